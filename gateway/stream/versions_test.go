package stream

import (
	"encoding/json"
	"fmt"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// versions are transactions of version 1, version 0 and legacy, which all touch account 1.
func versions() (list []*pb.SubscribeUpdateTransaction) {
	limit := uint32(0)
	for i := range 3 {
		m := tx{number: i + 1, slot: 8, keys: []byte{1, 2}}.message()
		message := m.Transaction.Transaction.Message
		message.Versioned = i < 2
		if i == 0 {
			message.Config = &pb.TransactionConfig{ComputeUnitLimit: &limit}
		}
		list = append(list, m)
	}
	return list
}

// TestVersionsThatAClientReads: a transaction of a version above what the subscription allows comes
// without its content and with the error that nodes have for it, never in another form.
func TestVersionsThatAClientReads(t *testing.T) {
	f := start(t, Config{maxFilters: 100})
	conn := f.dial(t)
	allowed := map[int]string{} // by subscription
	for _, options := range []string{
		`{}`, `{"maxSupportedTransactionVersion":null}`, `{"maxSupportedTransactionVersion":0}`,
		`{"maxSupportedTransactionVersion":0,"encoding":"base58"}`, `{"encoding":"json"}`, `{"encoding":"jsonParsed"}`, `{"transactionDetails":"accounts"}`,
	} {
		allowed[len(allowed)+1] = options
	}
	highest := len(allowed)
	for _, options := range []string{
		`{"maxSupportedTransactionVersion":1}`, `{"maxSupportedTransactionVersion":255}`, `{"maxSupportedTransactionVersion":1,"encoding":"json"}`,
		`{"maxSupportedTransactionVersion":1,"transactionDetails":"accounts"}`, `{"transactionDetails":"signatures"}`, `{"transactionDetails":"none"}`,
	} {
		allowed[len(allowed)+1] = options
	}
	for id := 1; id <= len(allowed); id++ {
		answer := f.call(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},%s]}`, allowed[id]))
		require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","result":%d,"id":1}`, id), answer)
	}
	for _, m := range versions() {
		f.topic.records <- recordOf(m)
	}
	for range 3 * len(allowed) {
		_, raw, err := conn.Read(f.context(t))
		require.NoError(t, err)
		var n struct {
			Params struct {
				Subscription int
				Result       json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(raw, &n))
		var result struct {
			TransactionIndex int
			Err, Transaction json.RawMessage
		}
		require.NoError(t, json.Unmarshal(n.Params.Result, &result))
		options := allowed[n.Params.Subscription]
		if result.TransactionIndex == 1 && n.Params.Subscription <= highest {
			require.JSONEq(t, `{"signature":"`+signatureText(1)+`","slot":8,"transactionIndex":1,"err":{"UnsupportedTransactionVersion":1}}`, string(n.Params.Result), options)
			continue
		}
		require.Nil(t, result.Err, options)
		if result.Transaction == nil {
			require.Contains(t, options, `"transactionDetails":`)
			continue
		}
		var shown struct{ Version any }
		require.NoError(t, json.Unmarshal(result.Transaction, &shown))
		require.Equal(t, []any{1.0, 0.0, "legacy"}[result.TransactionIndex-1], shown.Version, options)
	}
	for _, details := range detailTexts {
		answer := f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"encoding":"base58","maxSupportedTransactionVersion":1,"transactionDetails":"`+details+`"}]}`)
		require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"base58 encoding is not supported with maxSupportedTransactionVersion >= 1"},"id":1}`, answer)
	}
	answer := f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"maxSupportedTransactionVersion":256}]}`)
	require.Contains(t, answer, "-32602")
}

// TestVersion1InJSON: a config with all members, and no lookup tables.
func TestVersion1InJSON(t *testing.T) {
	for i, tx := range parsed(t, versions()) {
		for _, encoding := range []string{"json", "jsonParsed"} {
			shown := shownAs(t, tx, shape{encoding, "full"}).(map[string]any)
			message := shown["transaction"].(map[string]any)["message"].(map[string]any)
			config, _ := json.Marshal(message["transactionConfig"])
			want := `null`
			if i == 0 {
				want = `{"priorityFee":null,"computeUnitLimit":0,"loadedAccountsDataSizeLimit":null,"heapSize":null}`
			}
			require.JSONEq(t, want, string(config))
			require.Equal(t, i == 1, hasKey(message, "addressTableLookups"))
			meta := shown["meta"].(map[string]any)
			require.Equal(t, map[string]any{"Ok": nil}, meta["status"])
			require.True(t, hasKey(meta, "rewards"))
			require.Nil(t, meta["rewards"])
		}
	}
}

func hasKey(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// TestOverGRPCVersion1KeepsItsConfig: records are passed on as they came, an empty config too.
func TestOverGRPCVersion1KeepsItsConfig(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"all": {}})
	for _, m := range versions() {
		if config := m.Transaction.Transaction.Message.Config; config != nil {
			config.ComputeUnitLimit = nil
		}
		f.topic.records <- recordOf(m)
		for {
			update, err := stream.Recv()
			require.NoError(t, err)
			if got := update.GetTransaction(); got != nil {
				require.True(t, proto.Equal(m, got))
				message := got.GetTransaction().GetTransaction().GetMessage()
				require.Equal(t, yellowstone.VersionOf(m.Transaction.Transaction.Message), yellowstone.VersionOf(message))
				break
			}
		}
	}
}

// TestNoFormForWhatNoTransactionIs: what the network's format cannot have, or what is not known
// here, is an error in every shape that shows it.
func TestNoFormForWhatNoTransactionIs(t *testing.T) {
	long := func(n int) []*pb.CompiledInstruction {
		list := make([]*pb.CompiledInstruction, n)
		for i := range list {
			list[i] = &pb.CompiledInstruction{}
		}
		return list
	}
	lookup := []*pb.MessageAddressTableLookup{{AccountKey: named(3)}}
	for name, spoil := range map[string]func(tx *pb.Transaction, m *pb.Message){
		"a short signature":    func(tx *pb.Transaction, _ *pb.Message) { tx.Signatures[0] = tx.Signatures[0][:63] },
		"a long signature":     func(tx *pb.Transaction, _ *pb.Message) { tx.Signatures[0] = make([]byte, 65) },
		"no header":            func(_ *pb.Transaction, m *pb.Message) { m.Header = nil },
		"256 signers":          func(_ *pb.Transaction, m *pb.Message) { m.Header.NumRequiredSignatures = 256 },
		"256 readonly signers": func(_ *pb.Transaction, m *pb.Message) { m.Header.NumReadonlySignedAccounts = 256 },
		"256 readonly others":  func(_ *pb.Transaction, m *pb.Message) { m.Header.NumReadonlyUnsignedAccounts = 1 << 31 },
		"a short blockhash":    func(_ *pb.Transaction, m *pb.Message) { m.RecentBlockhash = m.RecentBlockhash[:31] },
		"no blockhash":         func(_ *pb.Transaction, m *pb.Message) { m.RecentBlockhash = nil },
		"program 256": func(_ *pb.Transaction, m *pb.Message) {
			m.Instructions = []*pb.CompiledInstruction{{ProgramIdIndex: 256}}
		},
		"65,536 instructions": func(_ *pb.Transaction, m *pb.Message) { m.Instructions = long(1 << 16) },
		"65,536 signatures":   func(tx *pb.Transaction, _ *pb.Message) { tx.Signatures = make([][]byte, 1<<16) },
		"a short key of a table": func(_ *pb.Transaction, m *pb.Message) {
			m.AddressTableLookups, m.Config, m.Versioned = []*pb.MessageAddressTableLookup{{}}, nil, true
		},
		"a table in version 1": func(_ *pb.Transaction, m *pb.Message) {
			m.AddressTableLookups, m.Config = lookup, &pb.TransactionConfig{}
		},
		"a table in legacy": func(_ *pb.Transaction, m *pb.Message) {
			m.AddressTableLookups, m.Config, m.Versioned = lookup, nil, false
		},
		"version 1, 256 keys":     func(_ *pb.Transaction, m *pb.Message) { m.AccountKeys, m.Config = make256(), &pb.TransactionConfig{} },
		"version 1, no signature": func(tx *pb.Transaction, m *pb.Message) { tx.Signatures, m.Config = nil, &pb.TransactionConfig{} },
		"version 1, two signatures": func(tx *pb.Transaction, m *pb.Message) {
			tx.Signatures, m.Config = append(tx.Signatures, tx.Signatures[0]), &pb.TransactionConfig{}
		},
		"version 1, 256 accounts": func(_ *pb.Transaction, m *pb.Message) {
			m.Config, m.Instructions = &pb.TransactionConfig{}, []*pb.CompiledInstruction{{Accounts: make([]byte, 256)}}
		},
		"version 1, 65,536 bytes": func(_ *pb.Transaction, m *pb.Message) {
			m.Config, m.Instructions = &pb.TransactionConfig{}, []*pb.CompiledInstruction{{Data: make([]byte, 1<<16)}}
		},
		"a member of the config that is not known": func(_ *pb.Transaction, m *pb.Message) {
			m.Config = &pb.TransactionConfig{}
			m.Config.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), 1))
		},
		"a field of the message that is not known": func(_ *pb.Transaction, m *pb.Message) {
			m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 8, protowire.VarintType), 1))
		},
		"a field of an instruction that is not known": func(_ *pb.Transaction, m *pb.Message) {
			m.Instructions = []*pb.CompiledInstruction{{}}
			m.Instructions[0].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), 1))
		},
		"a stack height in an outer instruction": func(_ *pb.Transaction, m *pb.Message) {
			m.Instructions = []*pb.CompiledInstruction{{}}
			m.Instructions[0].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1))
		},
		"a field of a table that is not known": func(_ *pb.Transaction, m *pb.Message) {
			m.AddressTableLookups, m.Config, m.Versioned = []*pb.MessageAddressTableLookup{{AccountKey: named(3)}}, nil, true
			m.AddressTableLookups[0].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1))
		},
		"two configs": func(_ *pb.Transaction, m *pb.Message) {
			m.Config = nil
			m.ProtoReflect().SetUnknown([]byte{7<<3 | 2, 0, 7<<3 | 2, 0})
		},
	} {
		for i, m := range versions() {
			spoil(m.Transaction.Transaction, m.Transaction.Transaction.Message)
			got := parsed(t, []*pb.SubscribeUpdateTransaction{m})[0]
			for _, s := range []shape{{"base64", "full"}, {"base58", "full"}, {"base64+zstd", "full"}, {"json", "full"}, {"jsonParsed", "full"}, {"base64", "accounts"}} {
				_, err := got.notification(s)
				require.ErrorIs(t, err, errMalformed, "%s, %d, %v", name, i, s)
			}
		}
	}
}

func make256() [][]byte {
	keys := make([][]byte, 256)
	for i := range keys {
		keys[i] = named(byte(i))
	}
	return keys
}

// FuzzWireFormat: what is a transaction of any version comes out byte for byte after it was a
// protobuf message.
func FuzzWireFormat(f *testing.F) {
	for _, m := range versions() {
		wire, err := encodeWire(m.Transaction.Transaction)
		require.NoError(f, err)
		require.NoError(f, new(txwire.Transaction).Parse(wire))
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tx txwire.Transaction
		if tx.Parse(data) != nil {
			return
		}
		message, err := proto.Marshal(yellowstone.TransactionOf(&tx))
		require.NoError(t, err)
		got, version, err := appendWire(nil, message)
		require.NoError(t, err)
		require.Equal(t, tx.Version, version)
		require.Equal(t, data, got)
	})
}
