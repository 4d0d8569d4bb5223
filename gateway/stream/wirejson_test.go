package stream

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// wireShapes are those that encodeWireShape encodes.
var wireShapes = []shape{{"base64", "full"}, {"base58", "full"}, {"base64+zstd", "full"}, {"base64", "signatures"}, {"base64", "none"}}

// checkWireShapes compares every byte of the JSON with what encoding/json makes of the decoded
// message.
func checkWireShapes(t testing.TB, value []byte, m *pb.SubscribeUpdateTransaction) {
	t.Helper()
	parsed, err := parseTransaction(value, 0, time.Time{})
	require.NoError(t, err)
	for _, s := range wireShapes {
		want, wantErr := encodeDecoded(m, s)
		got, err := parsed.notification(s)
		if wantErr != nil {
			require.ErrorIs(t, err, errMalformed, s)
			continue
		}
		require.NoError(t, err, s)
		require.Equal(t, string(want), string(got), s)
	}
}

func TestWireShapesEqualEncodingJSON(t *testing.T) {
	bare, headless, unrecorded := oddTransaction(), oddTransaction(), oddTransaction()
	bare.Transaction.Meta = nil
	unrecorded.Transaction.Meta.InnerInstructionsNone = true
	headless.Transaction.Transaction.Message.Header = nil
	for _, m := range append(realTransactions(t), oddTransaction(), bare, headless, unrecorded) {
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		checkWireShapes(t, value, m)
	}
}

// TestNumbersNeedNotBePacked: a protobuf encoder may write a field for each number.
func TestNumbersNeedNotBePacked(t *testing.T) {
	message := protowire.AppendVarint(protowire.AppendTag(nil, fieldMetaPreBalances, protowire.VarintType), 300)
	message = protowire.AppendBytes(protowire.AppendTag(message, fieldMetaPreBalances, protowire.BytesType), []byte{1, 2})
	w := jsonWriter{}
	w.numbers(`"n":`, message, fieldMetaPreBalances)
	require.NoError(t, w.err)
	require.Equal(t, `"n":[300,1,2]`, string(w.out))
	w.numbers("", protowire.AppendBytes(protowire.AppendTag(nil, fieldMetaPreBalances, protowire.BytesType), []byte{0x80}), fieldMetaPreBalances)
	require.Equal(t, errMalformed, w.err)
}

// oddTransaction has what the recorded blocks lack.
func oddTransaction() *pb.SubscribeUpdateTransaction {
	m, height := tx{number: 1, slot: 9, keys: []byte{1, 2}}.message(), uint32(2)
	m.Transaction.Meta = &pb.TransactionStatusMeta{
		Err: &pb.TransactionError{}, LogMessagesNone: true, ReturnData: &pb.ReturnData{}, PreTokenBalances: []*pb.TokenBalance{{}},
		InnerInstructions: []*pb.InnerInstructions{{}, {Index: 1, Instructions: []*pb.InnerInstruction{{}, {Accounts: []byte{1, 200}, StackHeight: &height}}}},
		PostTokenBalances: []*pb.TokenBalance{{Mint: "\"<\u2028", UiTokenAmount: &pb.UiTokenAmount{UiAmount: 1e-7, Decimals: 9}}},
		PreBalances:       []uint64{0, 1 << 63},
	}
	return m
}

// encodeDecoded is encodeWireShape by way of the decoded message.
func encodeDecoded(m *pb.SubscribeUpdateTransaction, s shape) ([]byte, error) {
	type transaction struct {
		Transaction [2]string `json:"transaction"`
		Meta        *jsonMeta `json:"meta"`
		Version     any       `json:"version"`
	}
	info := m.GetTransaction()
	out := struct {
		Signature        string       `json:"signature,omitempty"`
		Slot             uint64       `json:"slot"`
		TransactionIndex uint64       `json:"transactionIndex"`
		Transaction      *transaction `json:"transaction,omitempty"`
	}{Slot: m.GetSlot(), TransactionIndex: info.GetIndex()}
	if s.details != "none" {
		out.Signature = base58.Encode(info.GetSignature())
	}
	if s.details == "full" {
		tx := info.GetTransaction()
		wire, err := encodeWire(tx)
		if err != nil {
			return nil, err
		}
		out.Transaction = &transaction{Version: "legacy"}
		if v := yellowstone.VersionOf(tx.GetMessage()); v != txwire.Legacy {
			out.Transaction.Version = v
		}
		if info.GetMeta() != nil {
			out.Transaction.Meta = metaOf(info.GetMeta())
		}
		text := base64.StdEncoding.EncodeToString(wire)
		switch s.encoding {
		case "base58":
			text = base58.Encode(wire)
		case "base64+zstd":
			pack, err := packer()
			if err != nil {
				return nil, err
			}
			text = base64.StdEncoding.EncodeToString(pack.EncodeAll(wire, nil))
		}
		out.Transaction.Transaction = [2]string{text, s.encoding}
	}
	return json.Marshal(out)
}

// encodeWire is appendWire for a decoded transaction.
func encodeWire(tx *pb.Transaction) ([]byte, error) {
	m := tx.GetMessage()
	h := m.GetHeader()
	counts := []uint32{h.GetNumRequiredSignatures(), h.GetNumReadonlySignedAccounts(), h.GetNumReadonlyUnsignedAccounts()}
	if h == nil || slices.Max(counts) > 0xff {
		return nil, errMalformed
	}
	out := txwire.Transaction{
		Version: yellowstone.VersionOf(m), Signatures: tx.Signatures, Header: txwire.Header{Signers: uint8(counts[0]), ReadonlySigners: uint8(counts[1]), ReadonlyOthers: uint8(counts[2])},
		Config: yellowstone.ConfigOf(m), Keys: m.AccountKeys, Lifetime: m.RecentBlockhash,
	}
	for _, ix := range m.Instructions {
		if ix.ProgramIdIndex > 0xff {
			return nil, errMalformed
		}
		out.Instructions = append(out.Instructions, txwire.Instruction{Program: uint8(ix.ProgramIdIndex), Accounts: ix.Accounts, Data: ix.Data})
	}
	for _, l := range m.AddressTableLookups {
		out.Lookups = append(out.Lookups, txwire.Lookup{Table: l.AccountKey, Writable: l.WritableIndexes, Readonly: l.ReadonlyIndexes})
	}
	return out.Append(nil)
}
