// Package steady gives times as numbers that no jump of the wall clock changes.
//
// In: a time. Out: its Unix nanoseconds, by the wall clock as it stood when the process began.
// Guarantees: differences of two results are as long as the time that passed, also when the wall
// clock was set meanwhile, by hours in either direction. time.Time.UnixNano does not promise that:
// a number has no monotonic reading. For a time without a monotonic reading, as tests make them,
// the result is its UnixNano.
package steady

import "time"

var start = time.Now()

// Nano returns the Unix nanoseconds of t as they would be if nobody had set the clock.
func Nano(t time.Time) int64 { return start.UnixNano() + int64(t.Sub(start)) }

// Now is Nano of now.
func Now() int64 { return Nano(time.Now()) }

// Since returns how long ago a result of Now was.
func Since(at int64) time.Duration { return time.Duration(Now() - at) }
