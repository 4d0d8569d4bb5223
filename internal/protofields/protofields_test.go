package protofields_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/internal/protofields"
)

// message has a field of each kind: short and long bytes, a high number, a varint, fixed bits.
func message() []byte {
	m := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("short"))
	m = protowire.AppendBytes(protowire.AppendTag(m, 2, protowire.BytesType), make([]byte, 300))
	m = protowire.AppendBytes(protowire.AppendTag(m, 20_000, protowire.BytesType), []byte("far"))
	m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), 1<<40)
	m = protowire.AppendFixed64(protowire.AppendTag(m, 4, protowire.Fixed64Type), 7)
	m = protowire.AppendFixed32(protowire.AppendTag(m, 5, protowire.Fixed32Type), 8)
	return protowire.AppendBytes(protowire.AppendTag(m, 1, protowire.BytesType), []byte("again"))
}

func TestFieldsComeInOrder(t *testing.T) {
	var texts []string
	f := protofields.Fields{Rest: message()}
	for f.Next() {
		switch {
		case f.IsBytes(1), f.IsBytes(20_000):
			texts = append(texts, string(f.Bytes))
		case f.IsBytes(2):
			require.Len(t, f.Bytes, 300)
		case f.IsVarint(3):
			require.Equal(t, uint64(1<<40), f.Value)
		case f.IsFixed64(4):
			require.Equal(t, uint64(7), f.Value)
		default:
			require.Equal(t, protowire.Number(5), f.Number)
		}
	}
	require.NoError(t, f.Err)
	require.Equal(t, []string{"short", "far", "again"}, texts)
}

func TestEachAndVarint(t *testing.T) {
	var texts []string
	require.NoError(t, protofields.Each(message(), 1, func(field []byte) error {
		texts = append(texts, string(field))
		return nil
	}))
	require.Equal(t, []string{"short", "again"}, texts)
	stop := errors.New("stop")
	require.ErrorIs(t, protofields.Each(message(), 1, func([]byte) error { return stop }), stop)
	value, err := protofields.Varint(message(), 3)
	require.NoError(t, err)
	require.Equal(t, uint64(1<<40), value)
	value, err = protofields.Varint(message(), 1)
	require.NoError(t, err)
	require.Zero(t, value, "another kind of field")
}

func TestASecondMessageIsNotKept(t *testing.T) {
	var first []byte
	f := protofields.Fields{Rest: message()}
	for f.Next() {
		if f.IsBytes(1) {
			f.Keep(&first)
		}
	}
	require.ErrorIs(t, f.Err, protofields.ErrMalformed)
}

// FuzzFields: whatever comes, what is read is what protowire reads, and nothing lies beyond it.
func FuzzFields(f *testing.F) {
	f.Add(message())
	f.Add(message()[:40])
	f.Add([]byte{0x0a, 0x05, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, rest := protofields.Fields{Rest: data}, data
		for fields.Next() {
			number, kind, size := protowire.ConsumeField(rest)
			require.Positive(t, size)
			require.Equal(t, number, fields.Number)
			require.Equal(t, kind, fields.Kind)
			rest = rest[size:]
			require.Equal(t, rest, fields.Rest)
		}
		if fields.Err == nil {
			require.Empty(t, rest)
			return
		}
		require.ErrorIs(t, fields.Err, protofields.ErrMalformed)
		_, _, size := protowire.ConsumeField(rest)
		require.Negative(t, size)
	})
}
