//! The protocol on any bytes at all, for fuzzing: it panics if a promise is broken.

use crate::chunks;
use crate::frame;
use crate::protocol::{Answer, Has, Piece, Request};
use crate::transfer;

/// What a side would make of a stream of bytes that another sent, to its end or to what is malformed.
///
/// # Panics
/// If a message is decoded and encoded to something else, or pieces do not make up a content.
pub fn protocol(stream: &[u8]) {
    let mut rest = stream;
    while let Ok(Some((message, length))) = frame::unwrap(rest) {
        assert_eq!(frame::wrap(message), rest[..length]);
        request(message);
        answer(message, stream);
        rest = &rest[length..];
    }
}

/// The agent reads what claims to be from lilt.
fn request(message: &[u8]) {
    let Ok(request) = Request::decode(message) else { return };
    assert_eq!(request.encode(), message, "{request:?}");
    if let Request::Piece(Piece::Fresh { packed, .. }) = &request {
        // Refused or bounded, whatever size it claims.
        let unpacked = transfer::unpack(packed).unwrap_or_default();
        assert!(unpacked.len() <= 1 << 20);
    }
}

/// lilt reads what claims to be from an agent, and sends it what it says it lacks of some content.
fn answer(message: &[u8], content: &[u8]) {
    let Ok(answer) = Answer::decode(message) else { return };
    assert_eq!(answer.encode(), message, "{answer:?}");
    let Answer::Wants(wants) = answer else { return };
    let parts = chunks::of(content);
    for want in wants {
        let has = if let Has::Chunks(has) = want.has { has } else { Vec::new() };
        let mut sent = 0;
        for piece in transfer::pieces(want.entry, content, &parts, &has) {
            sent += match piece {
                Piece::Fresh { packed, .. } => {
                    transfer::unpack(&packed).expect("lilt's own piece").len() as u64
                }
                Piece::Old { length, .. } => length,
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
    use crate::protocol::{Entry, Kind, Update, Want};

    fn messages() -> impl Strategy<Value = Vec<u8>> {
        let chunk = "[a-c]{1,40}".prop_map(|text| Chunk::of(text.as_bytes()));
        let has = prop_oneof![
            Just(Has::Nothing),
            any::<[u8; 32]>().prop_map(Has::Known),
            prop::collection::vec(chunk, 0..8).prop_map(Has::Chunks),
        ];
        let want = (any::<u32>(), has).prop_map(|(entry, has)| Want { entry, has });
        let kind = prop_oneof![
            (any::<u32>(), any::<i64>(), any::<u64>(), any::<[u8; 32]>())
                .prop_map(|(mode, modified, size, digest)| Kind::File { mode, modified, size, digest }),
            (".{0,9}", any::<i64>()).prop_map(|(target, modified)| Kind::Link { target, modified }),
        ];
        let entry = (".{0,9}", kind).prop_map(|(path, kind)| Entry { path, kind });
        let update = (prop::collection::vec(".{0,9}", 0..4), prop::collection::vec(entry, 0..4))
            .prop_map(|(removals, entries)| Request::Update(Update { removals, entries }).encode());
        let piece = (any::<u32>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(entry, packed)| Request::Piece(Piece::Fresh { entry, packed }).encode());
        prop_oneof![
            update,
            piece,
            prop::collection::vec(want, 0..4).prop_map(|wants| Answer::Wants(wants).encode()),
            prop::collection::vec(any::<u8>(), 0..40),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_understood(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            protocol(&bytes);
        }

        /// Messages as they should be, some of them with a byte changed or cut off.
        #[test]
        fn damaged_messages_are_refused_or_understood(
            messages in prop::collection::vec(messages(), 1..4),
            change in any::<(prop::sample::Index, u8)>(),
            end in any::<prop::sample::Index>(),
        ) {
            let mut stream: Vec<u8> = messages.iter().flat_map(|message| frame::wrap(message)).collect();
            protocol(&stream);
            let place = change.0.index(stream.len());
            stream[place] ^= change.1;
            protocol(&stream);
            stream.truncate(end.index(stream.len()));
            protocol(&stream);
        }
    }
}
