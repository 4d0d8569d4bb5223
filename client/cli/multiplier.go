package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/client/rest"
)

// multiplied returns by how much wallets multiply the amounts of a token before they show them;
// empty for most tokens. A multiplier that was announced for a time is the present one once that
// time has come.
func multiplied(token *rest.Token, now time.Time) string {
	number := func(n *float64) string {
		if n == nil {
			return "?"
		}
		return strconv.FormatFloat(*n, 'g', -1, 64)
	}
	present, next, from := token.UIMultiplier, token.NextUIMultiplier, token.NextUIMultiplierAt
	if next == nil || from == nil {
		if present == nil {
			return ""
		}
		return "× " + number(present)
	}
	at := time.UnixMilli(int64(*from)).UTC()
	if !at.After(now) {
		return "× " + number(next)
	}
	return fmt.Sprintf("× %s, × %s from %s", number(present), number(next), at.Format(time.DateTime))
}
