package parse_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// today is a block with transactions of version 1, whose slot is todaySlot.
const (
	today     = "data/chain-2026/blocks/332254855-alpenglow/"
	todaySlot = 332254855
)

// jsonForm returns today's block as getBlock gives it.
func jsonForm(t testing.TB, encoding string) []byte {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, today+encoding+"/332254855.json.gz"))
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}

// geyserForm returns today's block as a Geyser server sends it.
func geyserForm(t testing.TB) *pb.SubscribeUpdateBlock {
	t.Helper()
	data, err := os.ReadFile(testkit.Shared(t, today+"geyser/332254855.subscribeupdate.bin"))
	require.NoError(t, err)
	update := &pb.SubscribeUpdate{}
	require.NoError(t, proto.Unmarshal(data[4:], update))
	return update.GetBlock()
}

func updateOf(t testing.TB, block *pb.SubscribeUpdateBlock) []byte {
	t.Helper()
	return encode(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: block}})
}

// storedOf returns a Geyser block as a ConfirmedBlock.
func storedOf(t testing.TB, block *pb.SubscribeUpdateBlock) []byte {
	t.Helper()
	stored := &pb.ConfirmedBlock{Blockhash: block.Blockhash, PreviousBlockhash: block.ParentBlockhash, ParentSlot: block.ParentSlot, BlockTime: block.BlockTime}
	for _, tx := range block.Transactions {
		stored.Transactions = append(stored.Transactions, &pb.ConfirmedTransaction{Transaction: tx.Transaction, Meta: tx.Meta})
	}
	return encode(t, stored)
}

// edit changes the entries of a getBlock result.
func edit(t testing.TB, data []byte, change func(entries []any) []any) []byte {
	t.Helper()
	var block map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&block))
	block["transactions"] = change(block["transactions"].([]any))
	out, err := json.Marshal(block)
	require.NoError(t, err)
	return out
}

// victim is the place of the transaction that is broken: it is of version 1 and did not fail.
func victim(t testing.TB) int {
	t.Helper()
	return slices.IndexFunc(geyserForm(t).Transactions, func(tx *pb.SubscribeUpdateTransactionInfo) bool {
		return tx.Transaction.Message.Config != nil && tx.Meta.Err == nil
	})
}

// broken are today's block in all forms, with one transaction that cannot be read.
func broken(t testing.TB, at int, short map[string][]byte) map[string]func() (*chain.Block, error) {
	t.Helper()
	fromJSON := func(encoding string, breakIt func(entry map[string]any)) func() (*chain.Block, error) {
		return func() (*chain.Block, error) {
			return parse.Reader{}.BlockJSON(edit(t, short[encoding], func(entries []any) []any { breakIt(entries[at].(map[string]any)); return entries }), todaySlot)
		}
	}
	badKey := func(entry map[string]any) {
		keys := entry["transaction"].(map[string]any)["message"].(map[string]any)["accountKeys"].([]any)
		keys[len(keys)-1] = "no key"
	}
	bad := geyserForm(t)
	bad.Transactions = bad.Transactions[:at+3]
	bad.ExecutedTransactionCount = uint64(len(bad.Transactions))
	bad.Transactions[at].Transaction.Message.Instructions[0].ProgramIdIndex = 300
	return map[string]func() (*chain.Block, error){
		"base64 cut short": fromJSON("base64", func(entry map[string]any) {
			wire := entry["transaction"].([]any)
			wire[0] = wire[0].(string)[:400]
		}),
		"base64, meta":       fromJSON("base64", func(entry map[string]any) { entry["meta"] = nil }),
		"base64, two in one": fromJSON("base64", func(entry map[string]any) { entry["transaction"] = []any{"AAAA", "base64", "more"} }),
		"json, a key":        fromJSON("json", badKey),
		"json, inner": fromJSON("json", func(entry map[string]any) {
			entry["meta"].(map[string]any)["innerInstructions"] = []any{map[string]any{"index": 900}}
		}),
		"jsonParsed, a key": fromJSON("jsonParsed", func(entry map[string]any) {
			entry["transaction"].(map[string]any)["message"].(map[string]any)["accountKeys"] = []any{7}
		}),
		"geyser, program": func() (*chain.Block, error) {
			u, err := parse.Reader{}.GeyserUpdate(updateOf(t, bad))
			return u.Block, err
		},
		"ConfirmedBlock program": func() (*chain.Block, error) { return parse.Reader{}.ConfirmedBlock(storedOf(t, bad), todaySlot) },
	}
}

// TestABrokenTransactionLeavesTheOthers: whatever is wrong with one transaction, in whatever form,
// the block's others are read as they are without it.
func TestABrokenTransactionLeavesTheOthers(t *testing.T) {
	at, short := victim(t), map[string][]byte{}
	for _, encoding := range []string{"base64", "json", "jsonParsed"} {
		short[encoding] = edit(t, jsonForm(t, encoding), func(entries []any) []any { return entries[:at+3] })
	}
	for name, read := range broken(t, at, short) {
		t.Run(name, func(t *testing.T) {
			encoding := "base64"
			if strings.HasPrefix(name, "jsonParsed") { // it lacks some accounts
				encoding = "jsonParsed"
			}
			want, err := parse.Reader{}.BlockJSON(short[encoding], todaySlot)
			require.NoError(t, err)
			require.True(t, want.Whole)
			signature := want.Transactions[at].Signature
			want.Transactions = slices.Delete(want.Transactions, at, at+1)
			got, err := read()
			require.NoError(t, err)
			require.False(t, got.Whole)
			require.True(t, got.InLedger())
			requireSame(t, want, got)
			require.EqualValues(t, len(want.Transactions)+1, got.Executed)
			require.Len(t, got.Unread, 1)
			one := got.Unread[0]
			require.Equal(t, at, one.Index)
			require.True(t, one.Signature == signature || one.Signature == chain.Signature{})
			require.NotEmpty(t, one.Raw)
			require.True(t, errors.Is(one.Err, parse.ErrMalformed) || errors.Is(one.Err, parse.ErrUnsupported), one.Err)
			for i := range got.Transactions {
				require.NotNil(t, got.Transactions[i].Raw)
			}
		})
	}
}

// TestVersionsAboveTheHighest: with a reader that stops at version 0, the transactions of version 1
// are named as such in every form, and the others are read.
func TestVersionsAboveTheHighest(t *testing.T) {
	old := parse.UpTo(txwire.V0)
	block := geyserForm(t)
	var want []int
	for i, tx := range block.Transactions {
		if tx.Transaction.Message.Config != nil {
			want = append(want, i)
		}
	}
	require.Greater(t, len(want), 30)
	forms := map[string]func() (*chain.Block, error){
		"geyser":         func() (*chain.Block, error) { u, err := old.GeyserUpdate(updateOf(t, block)); return u.Block, err },
		"ConfirmedBlock": func() (*chain.Block, error) { return old.ConfirmedBlock(storedOf(t, block), todaySlot) },
	}
	for _, encoding := range []string{"base64", "json", "jsonParsed"} {
		forms[encoding] = func() (*chain.Block, error) { return old.BlockJSON(jsonForm(t, encoding), todaySlot) }
	}
	for name, read := range forms {
		t.Run(name, func(t *testing.T) {
			got, err := read()
			require.NoError(t, err)
			require.Len(t, got.Transactions, len(block.Transactions)-len(want))
			var unread []int
			for _, one := range got.Unread {
				var version *txwire.VersionError
				require.ErrorAs(t, one.Err, &version)
				require.Equal(t, txwire.VersionError{Version: 1, Highest: 0}, *version)
				unread = append(unread, one.Index)
			}
			require.Equal(t, want, unread)
		})
	}
}

// TestAnUnknownVersionInAnyForm: an entry of a version that nobody knows yet has a form that nobody
// knows yet, and is named by its version all the same.
func TestAnUnknownVersionInAnyForm(t *testing.T) {
	data := edit(t, jsonForm(t, "json"), func(entries []any) []any {
		entries[3] = map[string]any{"transaction": map[string]any{"new": 1}, "meta": []any{}, "version": json.Number("2")}
		return entries[:6]
	})
	got, err := parse.Reader{}.BlockJSON(data, todaySlot)
	require.NoError(t, err)
	require.Len(t, got.Unread, 1)
	var version *txwire.VersionError
	require.ErrorAs(t, got.Unread[0].Err, &version)
	require.EqualValues(t, 2, version.Version)
}

// TestStreamRecordsOfVersionOne: a block in base64 gives the stream what a Geyser server sends, the
// configs included.
func TestStreamRecordsOfVersionOne(t *testing.T) {
	got, err := parse.Reader{}.BlockJSON(jsonForm(t, "base64"), todaySlot)
	require.NoError(t, err)
	list, left := updates(t, got)
	require.Zero(t, left)
	configs := 0
	for i, want := range geyserForm(t).Transactions {
		if list[i].Signature == nil {
			continue
		}
		if !proto.Equal(want.Transaction, list[i].Transaction) {
			require.Equal(t, prototext.Format(want.Transaction), prototext.Format(list[i].Transaction), i)
		}
		if list[i].Transaction.Message.Config != nil {
			configs++
		}
	}
	require.Greater(t, configs, 10)
}

// vector is a made transaction of version 1.
type vector struct {
	Name    string  `json:"name"`
	Base64  string  `json:"base64"`
	Runtime *string `json:"runtime"`
}

func vectors(t testing.TB, name string) []vector {
	t.Helper()
	return testkit.SharedLines[vector](t, "data/chain-2026/transactions/"+name)
}

// blockOf returns a getBlock result with transactions in base64.
func blockOf(wires ...string) []byte {
	const meta = `{"err":null,"fee":5000,"preBalances":[],"postBalances":[],"innerInstructions":[],"logMessages":[],"preTokenBalances":[],"postTokenBalances":[],` +
		`"rewards":null,"loadedAddresses":{"writable":[],"readonly":[]},"computeUnitsConsumed":1}`
	var entries []string
	for _, wire := range wires {
		entries = append(entries, fmt.Sprintf(`{"transaction":["%s","base64"],"meta":%s,"version":1}`, wire, meta))
	}
	const hash = "11111111111111111111111111111111"
	return fmt.Appendf(nil, `{"blockhash":"%s","previousBlockhash":"%s","parentSlot":4,"transactions":[%s]}`, hash, hash, strings.Join(entries, ","))
}

// TestVectorsOfVersionOne: the valid ones are read, and passed on with their config. Of the invalid
// ones those that nobody reads are named and left out. Those that only the runtime refuses are read
// and counted, from JSON as from Geyser.
func TestVectorsOfVersionOne(t *testing.T) {
	valid := vectors(t, "valid.jsonl")
	require.Len(t, valid, 73)
	for _, v := range valid {
		b, err := parse.Reader{}.BlockJSON(blockOf(v.Base64), 5)
		require.NoError(t, err, v.Name)
		require.True(t, b.Whole, v.Name)
		raw, err := b.Transactions[0].Raw.AppendUpdate(nil, true)
		require.NoError(t, err)
		info := &pb.SubscribeUpdateTransactionInfo{}
		require.NoError(t, proto.Unmarshal(raw, info))
		wire, err := base64.StdEncoding.DecodeString(v.Base64)
		require.NoError(t, err)
		var parsed txwire.Transaction
		require.NoError(t, parsed.Parse(wire))
		require.True(t, proto.Equal(yellowstone.TransactionOf(&parsed), info.Transaction), v.Name)
		require.Equal(t, txwire.V1, yellowstone.VersionOf(info.Transaction.Message))
		require.Equal(t, len(parsed.Keys), len(b.Transactions[0].Keys))
	}
	limits := 0
	for _, v := range vectors(t, "invalid.jsonl") {
		b, err := parse.Reader{}.BlockJSON(blockOf(valid[0].Base64, v.Base64), 5)
		require.NoError(t, err, v.Name)
		if v.Runtime == nil {
			require.Len(t, b.Transactions, 1, v.Name)
			require.Len(t, b.Unread, 1, v.Name)
			require.Equal(t, 1, b.Unread[0].Index)
			continue
		}
		limits++
		require.True(t, b.Whole, v.Name)
		require.Equal(t, 1, b.OverLimit, v.Name)
		raw, err := b.Transactions[1].Raw.AppendUpdate(nil, true)
		require.NoError(t, err)
		info := &pb.SubscribeUpdateTransactionInfo{}
		require.NoError(t, proto.Unmarshal(raw, info))
		u, err := parse.Reader{}.GeyserUpdate(updateOf(t, &pb.SubscribeUpdateBlock{Slot: 5, ParentSlot: 4, Blockhash: "J4Q851wfSrkE3pcXkRzQwK1Vd9nCc2m8nqUg8hYJ7TGP", Transactions: []*pb.SubscribeUpdateTransactionInfo{info}}))
		require.NoError(t, err)
		require.True(t, u.Block.Whole, v.Name)
		require.Equal(t, 1, u.Block.OverLimit, v.Name)
	}
	require.Equal(t, 14, limits)
}

// TestVersionOfOldServers: without a config and without lookups, version 1 looks like version 0. It
// is read as that, and counted.
func TestVersionOfOldServers(t *testing.T) {
	block := geyserForm(t)
	unclear := 0
	for _, tx := range block.Transactions {
		m := tx.Transaction.Message
		m.Config = nil
		if m.Versioned && len(m.AddressTableLookups) == 0 {
			unclear++
		}
	}
	u, err := parse.Reader{}.GeyserUpdate(updateOf(t, block))
	require.NoError(t, err)
	require.True(t, u.Block.Whole)
	require.Positive(t, unclear)
	require.Equal(t, unclear, u.Block.Unclear)

	both := geyserForm(t)
	for _, tx := range both.Transactions {
		if len(tx.Transaction.Message.AddressTableLookups) > 0 {
			tx.Transaction.Message.Config = &pb.TransactionConfig{}
		}
	}
	u, err = parse.Reader{}.GeyserUpdate(updateOf(t, both))
	require.NoError(t, err)
	require.NotEmpty(t, u.Block.Unread, "a config and lookups")
}

// TestRewardsOfTransactions: their types, named or numbered, and their commissions are passed on.
func TestRewardsOfTransactions(t *testing.T) {
	data := bytes.Replace(blockOf(vectors(t, "valid.jsonl")[0].Base64), []byte(`"rewards":null`), []byte(`"rewards":[
		{"pubkey":"a","lamports":-5,"postBalance":9,"rewardType":"VATDebit","commission":null,"commissionBps":250},
		{"pubkey":"b","lamports":5,"postBalance":9,"rewardType":"BlockRevenueSharing","commission":7},
		{"pubkey":"c","lamports":5,"postBalance":9,"rewardType":null}]`), 1)
	b, err := parse.Reader{}.BlockJSON(data, 5)
	require.NoError(t, err)
	raw, err := b.Transactions[0].Raw.AppendUpdate(nil, true)
	require.NoError(t, err)
	info := &pb.SubscribeUpdateTransactionInfo{}
	require.NoError(t, proto.Unmarshal(raw, info))
	rewards := info.Meta.Rewards
	require.Len(t, rewards, 3)
	require.Equal(t, pb.RewardType_VATDebit, rewards[0].RewardType)
	require.Equal(t, "250", rewards[0].CommissionBps)
	require.Equal(t, "7", rewards[1].Commission)
	for i, want := range []struct {
		name  string
		known bool
	}{{"VATDebit", true}, {"BlockRevenueSharing", false}, {"", true}} {
		name, known := rewardType(rewards[i])
		require.Equal(t, want.name, name)
		require.Equal(t, want.known, known)
	}
}

// rewardType returns the name of a reward's type, which is in a field of our own where the protocol
// has no number for it: see yellowstone.SetRewardType.
func rewardType(r *pb.Reward) (name string, numbered bool) {
	if r.GetRewardType() != pb.RewardType_Unspecified {
		return r.GetRewardType().String(), true
	}
	f := protofields.Fields{Rest: r.ProtoReflect().GetUnknown()}
	for f.Next() {
		if f.IsBytes(20_000) {
			return string(f.Bytes), false
		}
	}
	return "", true
}
