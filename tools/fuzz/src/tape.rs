//! Inputs that are not text: a tape from which a property reads its decisions.

/// Reads decisions off an input. At its end it gives zeros, so that every input means something.
#[derive(Debug, Clone)]
pub struct InputTape<'a> {
    rest: &'a [u8],
}

impl<'a> InputTape<'a> {
    /// From the beginning of an input.
    pub fn new(input: &'a [u8]) -> Self {
        Self { rest: input }
    }

    /// Whether everything has been read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    /// Half of the time true.
    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.byte().is_multiple_of(times)
    }

    /// A number of two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    /// A number of four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    /// A number of eight bytes; every other time one at an edge, where mistakes live.
    pub fn number(&mut self) -> u64 {
        match self.byte() {
            edge if edge.is_multiple_of(2) => EDGES[usize::from(edge / 2) % EDGES.len()],
            _ => u64::from_be_bytes(self.array()),
        }
    }

    /// One of these.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// At most so many bytes; fewer at the end.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    /// A piece of at most 255 bytes, whose length is on the tape, too.
    pub fn piece(&mut self) -> &'a [u8] {
        let length = self.byte();
        self.bytes(usize::from(length))
    }

    /// The same as text, whatever it takes.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.bytes(N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }
}

/// The ends of the types that numbers are put into on their way, and of what a term may be.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX,
    u64::MAX - 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    1 << 53,
    (1 << 53) + 1,
    1_000_000_000,
    15_000_000_000,
    600_000_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_there_and_then_zeros() {
        let mut tape = InputTape::new(&[7, 1, 0, 3, b'a', b'b']);
        assert_eq!((tape.byte(), tape.short(), tape.text()), (7, 256, "ab".to_owned()));
        assert!(tape.is_at_end());
        assert_eq!((tape.byte(), tape.word(), tape.number(), tape.flag()), (0, 0, 0, false));
        assert_eq!(tape.pick(&["first", "second"]), "first");
    }
}
