package layout_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/layout"
)

func TestLookupAddresses(t *testing.T) {
	keys := []layout.Key{{1}, {2}, {3}}
	data := layout.LookupTable{Extended: 100, From: 1, Authority: &layout.Key{9}, Addresses: keys}.Bytes()
	require.Len(t, data, 56+3*32)
	for slot, want := range map[uint64]int{99: 1, 100: 1, 101: 3} {
		got, ok := layout.LookupAddresses(data, slot)
		require.True(t, ok)
		require.Equal(t, keys[:want], got, "behind slot %d", slot)
	}
	uninitialized, deactivated := slices.Clone(data), slices.Clone(data)
	uninitialized[0] = 0
	binary.LittleEndian.PutUint64(deactivated[4:], 90)
	for name, d := range map[string][]byte{"none": nil, "cut": data[:55], "not initialized": uninitialized, "deactivated": deactivated} {
		_, ok := layout.LookupAddresses(d, 101)
		require.False(t, ok, name)
	}
}
