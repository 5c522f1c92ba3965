//! Functions of variables: elementwise, along axes, of linear algebra, and those that users write.

pub(super) mod arrays;
pub(super) mod bags;
pub(super) mod by_numpy;
pub(super) mod elementwise;
pub(super) mod functions;
pub(super) mod linalg;
pub(super) mod methods;
pub(super) mod primitive;
pub(super) mod primitive_parts;
pub(super) mod protocols;
pub(super) mod reductions;
pub(super) mod transform;
