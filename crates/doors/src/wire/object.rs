//! Objects by name alone. A derived `Deserialize` also takes a list as a struct, field by field in their order: a body
//! that means something else would be read as something. What a client sends goes through here, at every depth.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// What the derive made of a type with `#[serde(remote = "Self")]`.
pub trait Fields<'de>: Sized {
    fn fields<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

pub struct Object<T>(PhantomData<T>);

impl<'de, T: Fields<'de>> Object<T> {
    pub fn read<D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(Object(PhantomData))
    }
}

impl<'de, T: Fields<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::fields(MapAccessDeserializer::new(fields))
    }
}

/// Types with `#[serde(remote = "Self")]` that are read from an object and from nothing else.
macro_rules! objects {
    ($($name:ident),+ $(,)?) => { $(
        impl<'de> $crate::wire::object::Fields<'de> for $name {
            fn fields<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $name::deserialize(deserializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $crate::wire::object::Object::read(deserializer)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $name::serialize(self, serializer)
            }
        }
    )+ };
}

pub(super) use objects;
