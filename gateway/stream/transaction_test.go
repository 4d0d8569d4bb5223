package stream

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txerror"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// block is a mainnet block whose transactions are the messages that Geyser streams.
func block(t testing.TB) []*pb.SubscribeUpdateTransaction {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, "data/blocks/332254855.confirmedblock.pb"))
	require.NoError(t, err)
	var b pb.ConfirmedBlock
	require.NoError(t, proto.Unmarshal(raw, &b))
	var list []*pb.SubscribeUpdateTransaction
	for i, x := range b.Transactions {
		list = append(list, &pb.SubscribeUpdateTransaction{Slot: 332254855, Transaction: &pb.SubscribeUpdateTransactionInfo{
			Signature: x.Transaction.Signatures[0], Transaction: x.Transaction, Meta: x.Meta, Index: uint64(i)}})
	}
	require.NotEmpty(t, list)
	return list
}

func TestAMainnetBlock(t *testing.T) {
	failed, custom := 0, 0
	for _, m := range block(t) {
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		parsed, err := parseRecord(kafka.Record{Value: value})
		require.NoError(t, err)
		info := m.Transaction
		require.Equal(t, info.Meta.Err != nil, parsed.failed)
		require.Len(t, parsed.accounts, len(info.Transaction.Message.AccountKeys)+len(info.Meta.LoadedReadonlyAddresses)+len(info.Meta.LoadedWritableAddresses))
		require.EqualValues(t, 332254855, parsed.slot)

		raw, err := parsed.notification(plainShape)
		require.NoError(t, err)
		var n shown
		require.NoError(t, json.Unmarshal(raw, &n))
		wire, err := base64.StdEncoding.DecodeString(n.Transaction.Transaction[0])
		require.NoError(t, err)
		tx, err := solana.TransactionFromBytes(wire)
		require.NoError(t, err)
		require.Equal(t, n.Signature, tx.Signatures[0].String())
		message := wire[1+64*len(tx.Signatures):]
		require.True(t, ed25519.Verify(tx.Message.AccountKeys[0][:], message, tx.Signatures[0][:]), "the bytes are those that were signed")
		if info.Meta.Err != nil {
			failed++
			require.NotContains(t, fmt.Sprint(n.Transaction.Meta.Err), "bincode")
			custom += checkAgainstLog(t, n.Transaction.Meta)
		}
	}
	require.Positive(t, failed)
	t.Logf("%d failed, %d with a program's error that its log tells too", failed, custom)
}

// checkAgainstLog compares a custom error with what the failing program's log line says.
func checkAgainstLog(t *testing.T, meta *jsonMeta) int {
	t.Helper()
	outer, ok := meta.Err.(map[string]any)
	if !ok {
		return 0
	}
	list, ok := outer["InstructionError"].([]any)
	if !ok {
		return 0
	}
	inner, ok := list[1].(map[string]any)
	if !ok || inner["Custom"] == nil {
		return 0
	}
	want := fmt.Sprintf("custom program error: 0x%x", uint32(inner["Custom"].(float64)))
	for _, line := range meta.LogMessages {
		if strings.HasSuffix(line, want) {
			return 1
		}
	}
	for _, line := range meta.LogMessages {
		require.NotContains(t, line, "custom program error", "another error than the log's")
	}
	return 0
}

func TestTransactionErrors(t *testing.T) {
	for want, raw := range map[string][]byte{
		`"AccountInUse"`:    {0, 0, 0, 0},
		`"CommitCancelled"`: {38, 0, 0, 0},
		`{"InstructionError":[3,"ProgramFailedToComplete"]}`:                {8, 0, 0, 0, 3, 40, 0, 0, 0},
		`{"InstructionError":[0,{"Custom":1}]}`:                             {8, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0},
		`{"InstructionError":[0,{"BorshIoError":"hi"}]}`:                    {8, 0, 0, 0, 0, 44, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'h', 'i'},
		`{"InstructionError":[0,"BuiltinProgramsMustConsumeComputeUnits"]}`: {8, 0, 0, 0, 0, 53, 0, 0, 0},
		`{"DuplicateInstruction":4}`:                                        {30, 0, 0, 0, 4},
		`{"InsufficientFundsForRent":{"account_index":2}}`:                  {31, 0, 0, 0, 2},
		`{"bincode":"YwAAAA=="}`:                                            {99, 0, 0, 0},
		`{"bincode":"CAAAAA=="}`:                                            {8, 0, 0, 0},
		`{"bincode":""}`:                                                    {},
	} {
		got, err := json.Marshal(txerror.JSON(raw))
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
}

// FuzzRecord: no value makes the walk or the JSON panic, and what the walk takes for a transaction
// has the same filters' view as a full decoding.
func FuzzRecord(f *testing.F) {
	for _, x := range []tx{{number: 1, keys: []byte{1, 2}}, {number: 2, failed: true, vote: true, loaded: []byte{3}}} {
		f.Add(x.record().Value)
	}
	for _, m := range append(versions(), oddTransaction()) {
		value, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		parsed, err := parseRecord(kafka.Record{Value: value})
		if err != nil {
			return
		}
		for _, encoding := range encodings {
			if raw, err := parsed.notification(shape{encoding, "full"}); err == nil && !json.Valid(raw) {
				t.Fatalf("%s is no JSON: %s", encoding, raw)
			}
		}
		_, _ = parsed.notification(shape{"base64", "accounts"})
		_, _ = parsed.notification(unsupported)
		m, err := parsed.message()
		if err != nil {
			return
		}
		if m.Slot != parsed.slot || m.GetTransaction().GetIsVote() != parsed.vote || (m.GetTransaction().GetMeta().GetErr() != nil) != parsed.failed {
			t.Fatalf("another view: %+v, %v", m, parsed)
		}
		for _, s := range wireShapes {
			got, err := parsed.notification(s)
			want, wantErr := encodeDecoded(m, s)
			if err == nil && wantErr == nil && string(got) != string(want) {
				t.Fatalf("%v is not what encoding/json says:\n%s\n%s", s, got, want)
			}
			if v := yellowstone.VersionOf(m.GetTransaction().GetTransaction().GetMessage()); err == nil && s == plainShape && v != parsed.version {
				t.Fatalf("version %s, should be %s", parsed.version, v)
			}
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"vote":false,"accountInclude":["So11111111111111111111111111111111111111112"]},{}]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":[1],"method":"transactionUnsubscribe","params":[1]}`))
	m, err := newMetrics(nil, &Server{hub: newHub(1, 1)})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, message []byte) {
		s := &Server{cfg: Config{}.withDefaults(), rank: 1, metrics: m, hub: newHub(1, 1000)}
		sub, err := s.hub.add("", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		c := newSession(s, sub, nil)
		if reply, _ := c.Handle(message); !json.Valid(reply) {
			t.Fatalf("reply is no JSON: %s", reply)
		}
	})
}

func BenchmarkParseRecord(b *testing.B) {
	list := block(b)
	records := make([]kafka.Record, len(list))
	for i, m := range list {
		value, err := proto.Marshal(m)
		require.NoError(b, err)
		records[i].Value = value
	}
	i := 0
	for b.Loop() {
		if _, err := parseRecord(records[i%len(records)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkNotification makes the JSON of a block's transactions.
func BenchmarkNotification(b *testing.B) {
	list := parsed(b, block(b))
	for b.Loop() {
		for _, t := range list {
			again := &transaction{raw: t.raw}
			if _, err := again.notification(plainShape); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(list)), "µs/transaction")
}
