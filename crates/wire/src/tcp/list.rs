//! A short list in place.

use std::fmt;
use std::ops::Deref;

/// A list of at most `N` items, below 256, in place: its length costs one byte, so that a segment
/// with options stays as small as one of any other protocol.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    len: u8,
    items: [T; N],
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    /// Most items.
    pub const MOST: usize = N;

    /// The empty list.
    pub fn new() -> Self {
        const { assert!(N <= u8::MAX as usize) };
        Self { len: 0, items: [T::default(); N] }
    }

    /// Appends an item; false when there is no room for it.
    pub fn push(&mut self, item: T) -> bool {
        let Some(place) = self.items.get_mut(usize::from(self.len)) else { return false };
        *place = item;
        self.len += 1;
        true
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}

/// The first items, as many as there is room for.
impl<T: Copy + Default, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        for item in items.into_iter().take(N) {
            list.push(item);
        }
        list
    }
}

impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_takes_no_more() {
        let mut list: List<u8, 2> = List::new();
        assert!(list.push(1) && list.push(2) && !list.push(3));
        assert_eq!(*list, [1, 2]);
        assert_eq!((0..9).collect::<List<u8, 2>>()[..], [0, 1]);
    }

    #[test]
    fn lists_are_equal_when_their_items_are() {
        let one: List<u8, 3> = [1].into_iter().collect();
        assert_ne!(one, [1, 0].into_iter().collect());
        assert_eq!(one, [1].into_iter().collect());
    }
}
