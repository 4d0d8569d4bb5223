package swap

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
	executed "github.com/mintlake/mintlake/testworld/chain"
)

// TestTwoPoolsOfOneInstructionPayWhatIsQuoted: where a route over two pools of a venue is one
// instruction, it pays to the unit what was quoted, and leaves nothing in the middle.
func TestTwoPoolsOfOneInstructionPayWhatIsQuoted(t *testing.T) {
	for name, instruction := range map[string]string{"orca_whirlpool": "whirL 186", "raydium_clmm": "CAMMC 69"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			user := walletOf(1)
			w.fund(user.PublicKey())
			f := startOver(t, Config{Hubs: []venue.Key{executed.NativeMint, executed.USDCMint}, routing: hang}, w.rpc)
			mints := append(w.majors(), executed.USDCMint)
			ask := func(in, out venue.Key, amount uint64) string {
				return query(in, out, decimal(amount), fieldDexes, name, fieldUser, user.PublicKey().String())
			}
			paid := 0
			for _, in := range mints {
				if paid >= 3 {
					break
				}
				buy := query(executed.NativeMint, in, "10000000", fieldUser, user.PublicKey().String())
				if status, _ := f.do(t, http.MethodGet, buy, ""); status != http.StatusOK {
					continue
				}
				w.send(user, f.quoteOK(t, buy))
				w.step()
				for _, out := range mints {
					held, had := w.holds(user.PublicKey(), in.String()), w.holds(user.PublicKey(), out.String())
					if status, _ := f.do(t, http.MethodGet, ask(in, out, held/8), ""); in == out || status != http.StatusOK {
						continue
					}
					r := f.quoteOK(t, ask(in, out, held/8))
					_, steps := stepsOf(t, r.Txn)
					if !slices.ContainsFunc(steps, func(s step) bool { return s.name == instruction }) {
						continue // two swaps are worth more, with what they leave in the middle
					}
					require.Len(t, r.Route, 2)
					middle := r.Route[0].TargetMint
					between := w.holds(user.PublicKey(), middle)
					w.send(user, r)
					w.step()
					require.Equal(t, number(t, r.AmountOut), w.holds(user.PublicKey(), out.String())-had)
					require.Equal(t, held-held/8, w.holds(user.PublicKey(), in.String()))
					require.Equal(t, between, w.holds(user.PublicKey(), middle))
					paid++
				}
			}
			require.Positive(t, paid, "no route over two of its pools is one instruction")
		})
	}
}
