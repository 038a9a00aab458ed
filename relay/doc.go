// Package relay is the roof: it builds a relay from its parts, runs it, changes
// its configuration and drains it.
//
// New opens the store (PostgreSQL where store.postgres.url says so, and then the
// process is one of several equal replicas; else the embedded one), brings
// permissions to where its log ends (they are a fold over its control rows), and opens
// the listener. Run starts, in one group: the HTTP server, the follower, which keeps
// permissions current from there, the sweeper, the purge of what vanished or belonged
// to a deleted group, the scribes of the lists of members, and the pool that checks
// signatures; every connection brings a group of its own. Reload gives the new rules
// to what is open as well.
//
// When Run's context ends the relay drains: it reports not ready, stops accepting,
// ends every subscription with CLOSED, lets what was read finish and be answered,
// closes the connections with 1001, stops what Run has started, and closes the
// store last.
package relay
