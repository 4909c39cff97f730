//! Runs the protocol on arbitrary bytes, for fuzzing; panics if an invariant is violated.

use crate::chunks;
use crate::frame;
use crate::protocol::{Piece, PresentContent, Reply, Request};
use crate::transfer;

/// Decodes a stream as both sides would, up to its end or to a malformed message.
///
/// # Panics
/// If a message is not the same after it was encoded and decoded again, or pieces do not add up to the content.
pub fn protocol(stream: &[u8]) {
    let mut rest = stream;
    while let Ok(Some((message, length))) = frame::decode(rest) {
        assert_eq!(frame::encode(message), rest[..length]);
        request(message);
        reply(message, stream);
        rest = &rest[length..];
    }
}

/// The agent's side: decodes a request.
fn request(message: &[u8]) {
    let Ok(request) = Request::decode(message) else { return };
    // Not the same bytes: a number may be encoded in more bytes than it needs.
    assert_eq!(Request::decode(&request.encode()).as_ref(), Ok(&request));
    if let Request::Piece(Piece::Data { packed, .. }) = &request {
        // Rejected or bounded, whatever size the header states.
        let unpacked = transfer::unpack(packed).unwrap_or_default();
        assert!(unpacked.len() <= 1 << 20);
    }
}

/// lilt's side: decodes a reply and sends the pieces that it requests.
fn reply(message: &[u8], content: &[u8]) {
    let Ok(reply) = Reply::decode(message) else { return };
    assert_eq!(Reply::decode(&reply.encode()).as_ref(), Ok(&reply));
    let Reply::Missing(missing) = reply else { return };
    let parts = chunks::chunks_of(content);
    for file in missing {
        let present = if let PresentContent::Chunks(present) = file.present { present } else { Vec::new() };
        let mut sent = 0;
        for piece in transfer::pieces(file.entry, content, &parts, &present) {
            sent += match piece {
                Piece::Data { packed, .. } => {
                    transfer::unpack(&packed).expect("lilt's own piece").len() as u64
                }
                Piece::Copy { length, .. } => length,
            };
        }
        assert_eq!(sent, content.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chunks::Chunk;
    use crate::protocol::{Entry, Kind, MissingFile, Update};

    fn messages() -> impl Strategy<Value = Vec<u8>> {
        let chunk = "[a-c]{1,40}".prop_map(|text| Chunk::of(text.as_bytes()));
        let has = prop_oneof![
            Just(PresentContent::Nothing),
            any::<[u8; 32]>().prop_map(PresentContent::Known),
            prop::collection::vec(chunk, 0..8).prop_map(PresentContent::Chunks),
        ];
        let file = (any::<u32>(), has).prop_map(|(entry, has)| MissingFile { entry, present: has });
        let kind = prop_oneof![
            (any::<u32>(), any::<i64>(), any::<u64>(), any::<[u8; 32]>())
                .prop_map(|(mode, modified, size, digest)| Kind::File { mode, modified, size, digest }),
            (".{0,9}", any::<i64>()).prop_map(|(target, modified)| Kind::Link { target, modified }),
        ];
        let entry = (".{0,9}", kind).prop_map(|(path, kind)| Entry { path, kind });
        let update = (prop::collection::vec(".{0,9}", 0..4), prop::collection::vec(entry, 0..4))
            .prop_map(|(removals, entries)| Request::Update(Update { removals, entries }).encode());
        let piece = (any::<u32>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(entry, packed)| Request::Piece(Piece::Data { entry, packed }).encode());
        prop_oneof![
            update,
            piece,
            prop::collection::vec(file, 0..4).prop_map(|missing| Reply::Missing(missing).encode()),
            prop::collection::vec(any::<u8>(), 0..40),
        ]
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_rejected_or_decoded(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            protocol(&bytes);
        }

        /// Valid messages, with one byte changed or the end cut off.
        #[test]
        fn damaged_messages_are_rejected_or_decoded(
            messages in prop::collection::vec(messages(), 1..4),
            change in any::<(prop::sample::Index, u8)>(),
            end in any::<prop::sample::Index>(),
        ) {
            let mut stream: Vec<u8> = messages.iter().flat_map(|message| frame::encode(message)).collect();
            protocol(&stream);
            let place = change.0.index(stream.len());
            stream[place] ^= change.1;
            protocol(&stream);
            stream.truncate(end.index(stream.len()));
            protocol(&stream);
        }
    }
}
