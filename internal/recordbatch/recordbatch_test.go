package recordbatch

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"
)

// minimal is a record without key, value and headers, at a distance below 64 from its batch.
func minimal(delta byte) []byte { return []byte{12, 0, 0, 2 * delta, 1, 1, 0} }

func TestTheLastRecord(t *testing.T) {
	records := append(minimal(0), minimal(5)...)
	for codec, b := range map[byte][]byte{0: records, 2: s2.EncodeSnappy(nil, records)} {
		delta, count, err := Last(codec, b)
		require.NoError(t, err)
		require.EqualValues(t, 5, delta)
		require.EqualValues(t, 2, count)
	}
	for _, cut := range []int{1, 3, 6, 8, 13} {
		_, _, err := Last(0, records[:cut])
		require.ErrorIs(t, err, ErrMalformed, cut)
	}
	delta, count, err := Last(0, nil)
	require.NoError(t, err)
	require.Zero(t, delta+count)
}

// FuzzLast: whatever the bytes are, a batch that Count accepts ends where Last says.
func FuzzLast(f *testing.F) {
	f.Add(byte(0), append(minimal(0), minimal(1)...))
	f.Add(byte(2), s2.EncodeSnappy(nil, minimal(0)))
	for codec := range byte(5) {
		f.Add(codec, []byte("no batch"))
	}
	f.Fuzz(func(t *testing.T, codec byte, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		_, count, err := Last(codec, b)
		records, wrong := Decompress(codec, b, new(bytes.Buffer))
		if err != nil || wrong != nil || Count(records, int32(min(count, MaxRecords+1))) != nil {
			return
		}
		require.False(t, Many(records))
	})
}
