//! Queries to the loop.

use lilt_model::ResourceName;
use lilt_store::QuerySubject;
use serde_json::json;

use super::store_with_queries;

/// Work for a reader that has gone can end.
#[tokio::test]
async fn query_of_a_reader_that_is_gone_is_cancelled() {
    let (_writer, mut queries, reader) = store_with_queries();
    let asking = tokio::spawn(async move { reader.cluster_objects(ResourceName::new("web")).await });
    let mut query = queries.next().await;
    asking.abort();
    query.cancelled().await;
    query.answer(serde_json::Value::Null);
}

#[tokio::test]
async fn query_is_answered_by_subject() {
    let (_writer, mut queries, reader) = store_with_queries();
    let asking = tokio::spawn(async move { reader.engine_state().await });
    let query = queries.next().await;
    assert_eq!(query.subject, QuerySubject::Engine);
    query.answer(json!({"resources": 3}));
    assert_eq!(asking.await.unwrap(), Some(json!({"resources": 3})));
}

#[tokio::test]
async fn notices_are_known_after_the_loop_has_ended() {
    let (writer, queries, reader) = store_with_queries();
    queries.store_final_notices(vec![(ResourceName::new("web"), json!(["pulled"]))]);
    drop((writer, queries));
    assert_eq!(reader.notices("web".into()).await, Some(json!(["pulled"])));
    assert_eq!(reader.notices("other".into()).await, None);
    assert_eq!(reader.cluster_objects("web".into()).await, None, "nobody can ask the cluster");
}
