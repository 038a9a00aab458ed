// Package throttle keeps strangers from filling the operator's disk with log lines: while
// the database is away every request of every client fails, and each failure is logged.
//
// New wraps a slog.Handler. Of records at WARN and above that have the same level and the
// same message, which is constant in this program (its attributes are not looked at), the
// first is handed on at once. What comes within the time after it is counted, and when the
// time is over the newest of these is handed on, with how many others were left out before
// it ("left_out", when there are any). So there is one line of a kind in that time, whoever causes them, and
// the end of a flood is told as well. Records below WARN pass.
//
// It has no goroutine: a held record is handed on by a timer, so a process that ends
// meanwhile loses it. For each kind that was logged lately one record is kept.
package throttle
