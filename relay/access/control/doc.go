// Package control is the language of control rows: what a store keeps in
// store.Control.Data. Every row is made by Encode, which refuses one without a
// field that its type needs and one with a field that its type has no use for,
// and read by Decode, which refuses what this version does not know: a replica
// that cannot read a control row must not guess (O8, O13, O16).
//
// Decode(Encode(r)) is r with Version set, empty lists aside, which become nil.
// Nothing here blocks or keeps state.
package control
