package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
)

// TestMultipliersHoldFromTheirTime: what is announced is beside what holds until then; what holds
// already, or never will, is alone. A number that the program refuses is none.
func TestMultipliersHoldFromTheirTime(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	at := func(ms int64) *int64 { return &ms }
	for what, c := range map[string]struct {
		now, from, next string
		want            registry.Multipliers
	}{
		"nothing is stated":            {"", "", "", registry.Multipliers{}},
		"as it begins":                 {"1.25", "0", "1.25", registry.Multipliers{Now: number(1.25), NowItem: registry.AttributeNewMultiplier}},
		"another is announced":         {"1.25", "1800000000", "1.5", registry.Multipliers{Now: number(1.25), Next: number(1.5), NextAt: at(1_800_000_000_000)}},
		"the present one is not known": {"", "1800000000", "1.5", registry.Multipliers{Next: number(1.5), NextAt: at(1_800_000_000_000)}},
		"it held when it was set":      {"1.5", "1700000000", "1.5", registry.Multipliers{Now: number(1.5), NowItem: registry.AttributeNewMultiplier}},
		"a time before all times":      {"1.25", "-5", "1.5", registry.Multipliers{Now: number(1.5), NowItem: registry.AttributeNewMultiplier}},
		"a time after all times":       {"1.25", "10413792000", "1.5", registry.Multipliers{Now: number(1.25)}},
		"the last time":                {"1.25", "10413791999", "1.5", registry.Multipliers{Now: number(1.25), Next: number(1.5), NextAt: at(10_413_791_999_000)}},
		"no number":                    {"1.25", "1800000000", "NaN", registry.Multipliers{Now: number(1.25)}},
		"neither number":               {"-1", "1800000000", "+Inf", registry.Multipliers{}},
		"zero":                         {"0", "0", "0", registry.Multipliers{}},
		"no time":                      {"1.25", "soon", "1.5", registry.Multipliers{Now: number(1.25)}},
	} {
		if c.want.NowItem == "" {
			c.want.NowItem = registry.AttributeMultiplier
		}
		values := map[string]string{
			registry.AttributeMultiplier: c.now, registry.AttributeNewMultiplier: c.next, "scaled_ui_amount.new_multiplier_effective_timestamp": c.from,
		}
		require.Equal(t, c.want, registry.MultipliersOf(func(item string) string { return values[item] }), what)
	}
}
