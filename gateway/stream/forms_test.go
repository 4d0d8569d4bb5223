package stream

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// vector is a transaction of version 1 as Solana's own crates write it.
type vector struct {
	Name    string  `json:"name"`
	Base64  []byte  `json:"base64"`
	Runtime *string `json:"runtime"`
	update  *pb.SubscribeUpdateTransaction
}

// vectors returns the transactions that can be read, of the valid ones or of those that only the
// runtime refuses, as Geyser sends them.
func vectors(t testing.TB, name string) (list []vector) {
	t.Helper()
	for _, v := range testkit.SharedLines[vector](t, "data/chain-2026/transactions/"+name+".jsonl") {
		var read txwire.Transaction
		if read.Parse(v.Base64) != nil {
			continue
		}
		v.update = &pb.SubscribeUpdateTransaction{Slot: 9, Transaction: &pb.SubscribeUpdateTransactionInfo{
			Signature: tx{number: 1}.signature(), Transaction: yellowstone.TransactionOf(&read), Index: uint64(len(list)), Meta: &pb.TransactionStatusMeta{Fee: 5000}}}
		list = append(list, v)
	}
	return list
}

// TestVersion1IsWrittenByteForByte: a transaction of version 1 that Geyser sends is shown as the
// bytes that were signed, in every encoding of them.
func TestVersion1IsWrittenByteForByte(t *testing.T) {
	list := append(vectors(t, "valid"), vectors(t, "invalid")...)
	require.Len(t, list, 73+14)
	for _, v := range list {
		tx := parsed(t, []*pb.SubscribeUpdateTransaction{v.update})[0]
		require.Equal(t, txwire.V1, tx.version, v.Name)
		raw, err := tx.notification(plainShape)
		require.NoError(t, err, v.Name)
		var n shown
		require.NoError(t, json.Unmarshal(raw, &n))
		got, err := base64.StdEncoding.DecodeString(n.Transaction.Transaction[0])
		require.NoError(t, err)
		require.Equal(t, v.Base64, got, v.Name)
		require.EqualValues(t, 1, n.Transaction.Version, v.Name)
		checkWireShapes(t, tx.raw, v.update)
	}
}

// rewritten are real blocks of which 42 % of the transactions are of version 1: see the README of
// the shared data chain-2026.
var rewritten = []string{"254170887", "332254855", "361774429"}

// geyserBlock returns the transactions of a rewritten block as Geyser streams them.
func geyserBlock(t testing.TB, slot string) (list []*pb.SubscribeUpdateTransaction) {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, fmt.Sprintf("data/chain-2026/blocks/%s-alpenglow/geyser/%s.subscribeupdate.bin", slot, slot)))
	require.NoError(t, err)
	require.EqualValues(t, binary.BigEndian.Uint32(raw), len(raw)-4)
	var update pb.SubscribeUpdate
	require.NoError(t, proto.Unmarshal(raw[4:], &update))
	block := update.GetBlock()
	for _, info := range block.GetTransactions() {
		list = append(list, &pb.SubscribeUpdateTransaction{Slot: block.GetSlot(), Transaction: info})
	}
	require.NotEmpty(t, list)
	return list
}

// nodeBlock returns the transactions of the same block as a node answers getBlock in an encoding.
func nodeBlock(t testing.TB, slot, encoding string) []json.RawMessage {
	t.Helper()
	file, err := os.Open(testkit.Shared(t, fmt.Sprintf("data/chain-2026/blocks/%s-alpenglow/%s/%s.json.gz", slot, encoding, slot)))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	var block struct{ Transactions []json.RawMessage }
	require.NoError(t, json.NewDecoder(unpacked).Decode(&block))
	return block.Transactions
}

// nodesDiffer says where what a node of Agave 4.3 writes is not what the stream writes, and why.
var nodesDiffer = map[string]string{
	"meta.rewards":                                 "the node was asked for rewards, and has none: []; the stream cannot be asked, as Geyser does not tell them: null",
	"stake split":                                  "not one of the programs that docs/gateway-reference.md names",
	"stake withdraw":                               "not one of the programs that docs/gateway-reference.md names",
	"address-lookup-table extendLookupTable":       "not one of the programs that docs/gateway-reference.md names",
	"spl-token withdrawWithheldTokensFromAccounts": "an extension of Token-2022: docs/gateway-reference.md",
}

// TestFormsAreThoseOfANode: the blocks' transactions of all versions, as they come from Geyser, are
// shown as Agave's own code shows them, but for nodesDiffer.
func TestFormsAreThoseOfANode(t *testing.T) {
	found := map[string]string{}
	versions := map[any]int{}
	for _, slot := range rewritten {
		list := parsed(t, geyserBlock(t, slot))
		for _, encoding := range []string{"base64", "json", "jsonParsed"} {
			node := nodeBlock(t, slot, encoding)
			require.Len(t, node, len(list))
			for i, tx := range list {
				got := shownAs(t, tx, shape{encoding, "full"})
				want := decoded(t, node[i])
				differ := differences{at: fmt.Sprintf("%s, %s, transaction %d", slot, encoding, i), found: found}
				differ.compare("", want, got)
				versions[got.(map[string]any)["version"]]++
				if encoding == "jsonParsed" {
					checkAccounts(t, got, shownAs(t, tx, shape{"base64", "accounts"}))
				}
			}
		}
	}
	for what, example := range found {
		require.Contains(t, nodesDiffer, what, example)
	}
	require.Len(t, found, len(nodesDiffer), "each is seen: %v", slices.Collect(maps.Keys(found)))
	require.Len(t, versions, 3, "%v", versions)
}

// shownAs returns the member transaction of a notification.
func shownAs(t *testing.T, tx *transaction, s shape) any {
	t.Helper()
	raw, err := tx.notification(s)
	require.NoError(t, err)
	var n struct{ Transaction json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &n))
	return decoded(t, n.Transaction)
}

// decoded decodes JSON. Its numbers are not rounded.
func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&value))
	return value
}

// checkAccounts compares a transaction with details accounts with the same one in jsonParsed.
func checkAccounts(t *testing.T, full, accounts any) {
	t.Helper()
	tx, brief := full.(map[string]any), accounts.(map[string]any)
	inner := tx["transaction"].(map[string]any)
	require.Equal(t, map[string]any{"signatures": inner["signatures"], "accountKeys": inner["message"].(map[string]any)["accountKeys"]}, brief["transaction"])
	require.Equal(t, tx["version"], brief["version"])
	meta := tx["meta"].(map[string]any)
	require.Len(t, brief["meta"], 7)
	for key, value := range brief["meta"].(map[string]any) {
		require.Equal(t, meta[key], value, key)
	}
}

// differences collects where two JSON values differ, with an example of each.
type differences struct {
	at    string
	found map[string]string
}

func (d differences) add(what string, want, got any) {
	d.found[what] = fmt.Sprintf("%s: %s: a node has %v, the stream %v", d.at, what, want, got)
}

func (d differences) compare(path string, want, got any) {
	switch a := want.(type) {
	case map[string]any:
		b, ok := got.(map[string]any)
		if !ok {
			d.add(path, want, got)
			return
		}
		if a["parsed"] != nil && b["parsed"] == nil && a["programId"] == b["programId"] && a["stackHeight"] == b["stackHeight"] && b["data"] != nil {
			d.add(fmt.Sprint(a["program"], " ", a["parsed"].(map[string]any)["type"]), want, got)
			return
		}
		both := maps.Clone(a)
		maps.Copy(both, b)
		for key := range both {
			x, inA := a[key]
			y, inB := b[key]
			if member := strings.TrimPrefix(path+"."+key, "."); inA && inB {
				d.compare(member, x, y)
			} else {
				d.add(member, x, y)
			}
		}
	case []any:
		b, ok := got.([]any)
		if !ok || len(a) != len(b) {
			d.add(path, want, got)
			return
		}
		for i := range a {
			d.compare(path, a[i], b[i])
		}
	case json.Number:
		b, _ := got.(json.Number)
		x, _ := a.Float64()
		y, err := b.Float64()
		// A node writes 1.0 and 6e-6, the stream 1 and 0.000006. Rust's reader of JSON, which the
		// node's forms went through, does not keep the last of 17 digits.
		same := strings.HasSuffix(path, ".uiAmount") && err == nil && math.Abs(x-y) <= 1e-15*math.Abs(x)
		if a != b && !same {
			d.add(path, want, got)
		}
	default:
		if !reflect.DeepEqual(want, got) {
			d.add(path, want, got)
		}
	}
}
