//! Shared pointers that say without an atomic read-modify-write that they are the only one.
//!
//! Arrays and gradients are shared until they are written to. [`Arc::get_mut`] locks weak pointers out by two atomic
//! operations, which take longer than an operator on few numbers does. Of a [`Shared`] nobody can make a weak pointer,
//! so that one load of the count and a fence are enough.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// An [`Arc`] of which nobody makes a weak pointer.
#[derive(Debug)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        Shared(Arc::new(value))
    }

    /// Whether it is shared, as far as is known now.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) != 1
    }

    /// What this points to, for writing, if it is not shared.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if self.is_shared() {
            return None;
        }
        // What others did before they dropped theirs comes before what is done now.
        fence(Ordering::Acquire);
        // SAFETY: this is the only pointer to it: another strong one could be made of this one alone, which is
        // borrowed mutably for as long as the result lives, and nothing makes a weak one, since the pointer is
        // private to this file, which does not. Those that were dropped decremented the count by a release
        // operation, which the fence orders before what follows. The address is that of the allocation, which may be
        // written to.
        Some(unsafe { &mut *Arc::as_ptr(&self.0).cast_mut() })
    }

    /// What this points to, if that is not shared, else this.
    pub(crate) fn try_unwrap(self) -> Result<T, Self> {
        Arc::try_unwrap(self.0).map_err(Shared)
    }
}

impl<T: Clone> Shared<T> {
    /// What this points to, for writing; a copy first, if it is shared.
    pub(crate) fn make_mut(&mut self) -> &mut T {
        if self.is_shared() {
            *self = Shared::new(T::clone(self));
        }
        match self.get_mut() {
            Some(value) => value,
            None => unreachable!("nobody else has it"),
        }
    }

    /// What this points to; a copy, if it is shared.
    pub(crate) fn unwrap_or_clone(self) -> T {
        self.try_unwrap().unwrap_or_else(|shared| T::clone(&shared))
    }
}

impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Shared::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_is_copied_before_it_is_changed() {
        let mut one = Shared::new(vec![1]);
        one.make_mut().push(2);
        let other = one.clone();
        assert!(one.is_shared() && one.get_mut().is_none());
        one.make_mut().push(3);
        assert_eq!((&**one, &**other), (&[1, 2, 3][..], &[1, 2][..]));
        let third = other.clone();
        let other = other.try_unwrap().unwrap_err();
        // Another thread may be the last to drop it.
        std::thread::spawn(move || drop(third)).join().unwrap();
        assert_eq!(other.try_unwrap().unwrap(), [1, 2]);
        assert_eq!(one.clone().unwrap_or_clone(), one.unwrap_or_clone());
    }
}
