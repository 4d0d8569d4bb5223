package decode_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

var update = flag.Bool("update", false, "rewrite golden files")

// clientInstruction is an instruction that a program's published client built; see
// testdata/README.md.
type clientInstruction struct {
	Name     string   `json:"name"`
	Program  string   `json:"program"`
	Data     string   `json:"data"`
	Accounts []string `json:"accounts"`
}

func loadClients(t testing.TB) []clientInstruction {
	t.Helper()
	data, err := os.ReadFile("testdata/clients.json")
	require.NoError(t, err)
	var vectors []clientInstruction
	require.NoError(t, json.Unmarshal(data, &vectors))
	return vectors
}

// transaction wraps instructions as the outer instructions of one successful transaction.
func transaction(t testing.TB, instructions ...clientInstruction) *chain.Transaction {
	t.Helper()
	tx := &chain.Transaction{Index: 3, Signature: chain.Signature{1, 2, 3}}
	index := func(address string) int {
		k := key(t, address)
		for i := range tx.Keys {
			if tx.Keys[i] == k {
				return i
			}
		}
		tx.Keys = append(tx.Keys, k)
		return len(tx.Keys) - 1
	}
	for _, in := range instructions {
		data, err := hex.DecodeString(in.Data)
		require.NoError(t, err)
		call := chain.Call{ProgramIndex: index(in.Program), Data: data, StackHeight: 1}
		for _, a := range in.Accounts {
			call.Accounts = append(call.Accounts, byte(index(a)))
		}
		tx.Instructions = append(tx.Instructions, chain.Instruction{Call: call})
	}
	return tx
}

// recorder is an observer that remembers.
type recorder struct{ ignored, raw []string }

func (r *recorder) Ignored(program, reason string) { r.ignored = append(r.ignored, program+" "+reason) }
func (r *recorder) Raw(program, reason string)     { r.raw = append(r.raw, program+" "+reason) }

// TestClients decodes what the programs' clients write and compares with the golden file.
func TestClients(t *testing.T) {
	var got strings.Builder
	for _, v := range loadClients(t) {
		seen := &recorder{}
		tx := transaction(t, v)
		// the mint of these is found in the transaction, not in the instruction
		if strings.HasPrefix(v.Name, "metaplex Update") {
			tx.Keys = append(tx.Keys, sha256.Sum256([]byte("mint")))
		}
		// of a token account, which its balance shows
		if strings.HasSuffix(v.Name, "CloseAccount") {
			tx.PreBalances = []chain.TokenBalance{{AccountIndex: int(tx.Instructions[0].Accounts[0]), Mint: named("mint")}}
		}
		events := decode.New(seen).Decode(tx, 7, 1_700_000_000)
		require.LessOrEqual(t, len(events), 1, v.Name)
		require.Empty(t, seen.raw, v.Name)
		if len(events) == 0 {
			fmt.Fprintf(&got, "%s: ignored, %s\n", v.Name, strings.Join(seen.ignored, ";"))
			continue
		}
		fmt.Fprintf(&got, "%s: %s\n", v.Name, line(t, events[0]))
	}
	const golden = "testdata/clients.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// line writes an event as one line, keys as the names they were made of.
func line(t testing.TB, event *eventspb.TokenEvent) string {
	t.Helper()
	event = proto.Clone(event).(*eventspb.TokenEvent) // Clone keeps the type
	kind := schemas.KindOf(event)
	event.Position, event.Signature, event.ProgramId, event.BlockTime = nil, nil, nil, 0
	raw, err := protojson.Marshal(event)
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, raw))
	text := compact.String()
	for _, name := range []string{"mint", "account", "owner", "authority", "new", "destination"} {
		k := sha256.Sum256([]byte(name))
		text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString(k[:]), "<"+name+">")
		text = strings.ReplaceAll(text, base58.Encode(k[:]), "<"+name+">")
	}
	return string(kind) + " " + text
}
