package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client/rest"
)

func TestMultipliersAreToldWithTheirTime(t *testing.T) {
	one, two, at := 1.25, 1.5, 1_800_000_000_000
	now := time.UnixMilli(int64(at))
	require.Empty(t, multiplied(&rest.Token{}, now))
	require.Equal(t, "× 1.25", multiplied(&rest.Token{UIMultiplier: &one}, now))
	announced := &rest.Token{UIMultiplier: &one, NextUIMultiplier: &two, NextUIMultiplierAt: &at}
	require.Equal(t, "× 1.25, × 1.5 from 2027-01-15 08:00:00", multiplied(announced, now.Add(-time.Second)))
	require.Equal(t, "× 1.5", multiplied(announced, now))
	announced.UIMultiplier = nil
	require.Equal(t, "× ?, × 1.5 from 2027-01-15 08:00:00", multiplied(announced, now.Add(-time.Second)))
}
