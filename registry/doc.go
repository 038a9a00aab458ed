// Package registry knows which connections are open: it numbers them, finds one
// by its number, walks over all of them, and admits new ones under the caps per
// address and in total. It exists because three parties that do not know each
// other meet here: relay/conn adds and removes connections, the relay's drain
// closes them all, and bans and operators look for some of them.
//
// Which subscriptions want an event is the business of registry/index.
//
// A connection is admitted before its handshake and added after it; whoever
// admitted it calls release when nothing of it is left, so that a client cannot
// hold more than its cap by being slow to leave. Admissions can be had on their
// own too: relay/conn counts sockets before HTTP with them. Everything may be called from
// anywhere; nothing blocks. Callbacks run without a lock.
package registry
