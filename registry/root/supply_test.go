package root

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestSupplyIsTheRegistrys: the root's supply is that of the token, also of texts that our own
// events never contain, however long they are.
func TestSupplyIsTheRegistrys(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	mint := pubkey.Key(registrytest.Mint(1))
	for _, c := range []struct {
		base   string
		deltas []string
	}{
		{"5", nil}, {"5", []string{"7", "-12"}}, {"5", []string{"-6"}}, {"18446744073709551615", []string{"1"}}, {"18446744073709551615", []string{"1", "-1"}},
		{"", nil}, {"-5", []string{"9"}}, {"18446744073709551616", []string{"-1"}}, {long, []string{"-" + long}}, {"5", []string{long, "-" + long, "x", "-", "1"}},
	} {
		at := func(slot uint64) schemas.Position { return schemas.Position{Slot: slot} }
		base := registry.Fact{Mint: mint, Register: registry.RegisterSupply, Position: at(1), Value: c.base}
		var deltas []registry.Fact
		state := registry.State{}
		state.Apply(base)
		for i, value := range c.deltas {
			delta := registry.Fact{Mint: mint, Register: registry.RegisterSupplyDelta, Item: fmt.Sprintf("%032x", i), Position: at(uint64(i) + 2), Value: value}
			deltas = append(deltas, delta)
			state.Apply(delta)
		}
		token, _ := state.Token(mint)
		sum, known := supply(&base, deltas)
		require.Equal(t, token.Supply != nil, known, "%.40s %.40s", c.base, c.deltas)
		if known {
			require.Equal(t, *token.Supply, strconv.FormatUint(sum, 10))
		}
	}
}
