//! What registers move of a row that they do not fill.

use std::fmt::Debug;

use super::{__m256, __m256d, __m512, __m512d};
use super::{Vector, first_f32_wide, first_f64_wide};
use crate::simd::Isa;

/// Moves the first numbers of some, as many as there are and fewer.
fn check<V: Vector<T>, T: Copy + Default + PartialEq + Debug>(numbers: &[T]) {
    for count in 0..=V::LANES {
        let mut moved = vec![T::default(); V::LANES];
        // SAFETY: the caller has looked for the instruction set; as many numbers are on both sides.
        unsafe { V::load_first(numbers.as_ptr(), count).store(moved.as_mut_ptr()) };
        assert!(moved[..count] == numbers[..count], "{moved:?}");
        assert!(moved[count..].iter().all(|&x| x == T::default()));
        let mut moved = vec![T::default(); count];
        // SAFETY: as above; `count` numbers are written.
        unsafe { V::load(numbers.as_ptr()).store_first(moved.as_mut_ptr(), count) };
        assert!(moved == numbers[..count], "{moved:?}");
    }
}

#[test]
fn the_first_elements_are_moved() {
    let singles: Vec<f32> = (1u8..=16).map(f32::from).collect();
    let doubles: Vec<f64> = (1u8..=8).map(f64::from).collect();
    if Isa::active() >= Isa::Avx2 {
        check::<__m256, f32>(&singles);
        check::<__m256d, f64>(&doubles);
    }
    if Isa::active() >= Isa::Avx512 {
        check::<__m512, f32>(&singles);
        check::<__m512d, f64>(&doubles);
    }
}

#[test]
fn masks_have_as_many_bits() {
    for count in 0..=16 {
        let mask = first_f32_wide(count);
        assert!(mask.trailing_ones() as usize == count && mask.count_ones() as usize == count);
    }
    for count in 0..=8 {
        let mask = first_f64_wide(count);
        assert!(mask.trailing_ones() as usize == count && mask.count_ones() as usize == count);
    }
}
