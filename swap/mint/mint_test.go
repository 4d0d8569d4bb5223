package mint

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"

	"github.com/mintlake/mintlake/solana"
)

func extended(extensions ...[]byte) *solana.Account {
	data := make([]byte, 166)
	data[44], data[45], data[165] = 6, 1, 1
	for _, e := range extensions {
		data = append(data, e...)
	}
	return &solana.Account{Owner: Token2022, Data: data}
}

func extension(extensionType, length byte, value ...byte) []byte {
	return append([]byte{extensionType, 0, length, 0}, append(value, make([]byte, int(length)-len(value))...)...)
}

func TestWhatCannotBeTraded(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 64)
	for reason, account := range map[string]*solana.Account{
		"no such account":  nil,
		"no token program": {Owner: pubkey.Key{1}, Data: make([]byte, 82)},
		"hook program":     extended(extension(extensionTransferHook, 64, key...)),
		"not transferable": extended(extension(extensionNonTransferable, 0)),
		"paused":           extended(extension(extensionPausable, 33, append(key[:32:32], 1)...)),
		"begin frozen":     extended(extension(extensionDefaultAccountState, 1, 2)),
		"unknown form":     extended(extension(extensionTransferFee, 5)),
		// What has another length than the program gives it may say anything.
		"call a hook": extended(extension(extensionTransferHook, 65)),
		"is paused":   extended(extension(extensionPausable, 34)),
		"frozen":      extended(extension(extensionDefaultAccountState, 2, 1)),
	} {
		_, err := Parse(pubkey.Key{9}, account)
		require.ErrorIs(t, err, ErrUntradable, reason)
		require.ErrorContains(t, err, reason)
	}
	m, err := Parse(pubkey.Key{9}, extended(extension(extensionTransferHook, 64, key[:32]...), extension(extensionPausable, 33, key[:32]...),
		extension(extensionDefaultAccountState, 1, 1), extension(extensionPermanentDelegate, 32, key[:32]...)))
	require.NoError(t, err, "extensions that do nothing now")
	require.Equal(t, []string{"permanent_delegate"}, m.Warnings)
	require.Equal(t, Token2022, m.Program)
	require.EqualValues(t, 6, m.Decimals)
}

func TestTransferFeeFollowsTheEpoch(t *testing.T) {
	m := &Mint{hasFee: true, older: feeRule{0, 1000, 50}, newer: feeRule{10, 5, 10_000}}
	require.EqualValues(t, 1, m.TransferFee(9, 1), "rounded up")
	require.EqualValues(t, 1, m.TransferFee(9, 200))
	require.EqualValues(t, 2, m.TransferFee(9, 201))
	require.EqualValues(t, 1000, m.TransferFee(9, 1<<63))
	require.EqualValues(t, 3, m.TransferFee(10, 3), "all of it")
	require.EqualValues(t, 5, m.TransferFee(11, ^uint64(0)))
	require.Zero(t, m.TransferFee(9, 0))
	require.Zero(t, (&Mint{}).TransferFee(9, 100))
}

// TestSentArrives: what Sent asks for arrives, and nothing less would.
func TestSentArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Mint{hasFee: true, older: feeRule{
			bps:     rapid.Uint64Range(0, 10_000).Draw(t, "bps"),
			maximum: rapid.OneOf(rapid.Uint64Range(0, 1000), rapid.Uint64()).Draw(t, "maximum"),
		}, newer: feeRule{epoch: 1}}
		amount := rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Range(1, math.MaxUint64)).Draw(t, "amount")
		gross, ok := m.Sent(0, amount)
		if !ok {
			return
		}
		require.GreaterOrEqual(t, gross-m.TransferFee(0, gross), amount)
		if gross > amount && m.older.bps < 10_000 {
			require.Less(t, gross-1-m.TransferFee(0, gross-1), amount)
		}
		plain, ok := m.Sent(1, amount)
		require.True(t, ok)
		require.Equal(t, amount, plain, "the newer rule takes nothing")
	})
}
