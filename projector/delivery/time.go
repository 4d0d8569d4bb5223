package delivery

import "time"

// BlockTime returns 1970-01-01 for a time that the source did not state, or that ClickHouse's
// DateTime (seconds in 32 bits) cannot hold.
func BlockTime(seconds int64) time.Time {
	if seconds <= 0 || seconds > 1<<32-1 {
		seconds = 0
	}
	return time.Unix(seconds, 0).UTC()
}
