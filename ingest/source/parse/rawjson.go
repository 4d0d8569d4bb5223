package parse

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/solana/txerror"
)

// rawEntry is an entry of getBlock's transactions in base64. The names are those of agave's
// UiTransactionStatusMeta.
type rawEntry struct {
	Transaction json.RawMessage `json:"transaction"`
	Meta        struct {
		Err               json.RawMessage `json:"err"`
		Fee               uint64          `json:"fee"`
		PreBalances       []uint64        `json:"preBalances"`
		PostBalances      []uint64        `json:"postBalances"`
		InnerInstructions *[]rawInner     `json:"innerInstructions"`
		LogMessages       *[]string       `json:"logMessages"`
		PreTokenBalances  []rawBalance    `json:"preTokenBalances"`
		PostTokenBalances []rawBalance    `json:"postTokenBalances"`
		Rewards           []rawReward     `json:"rewards"`
		Loaded            struct {
			Writable []rawKey `json:"writable"`
			Readonly []rawKey `json:"readonly"`
		} `json:"loadedAddresses"`
		ReturnData *struct {
			ProgramID rawKey    `json:"programId"`
			Data      [2]string `json:"data"`
		} `json:"returnData"`
		ComputeUnits *uint64 `json:"computeUnitsConsumed"`
		CostUnits    *uint64 `json:"costUnits"`
	} `json:"meta"`
}

type rawInner struct {
	Index        uint32 `json:"index"`
	Instructions []struct {
		Program     uint32    `json:"programIdIndex"`
		Indexes     []uint16  `json:"accounts"` // a []byte would be base64
		Data        rawBase58 `json:"data"`
		StackHeight *uint32   `json:"stackHeight"`
	} `json:"instructions"`
}

type rawBalance struct {
	AccountIndex uint32 `json:"accountIndex"`
	Mint         string `json:"mint"`
	Owner        string `json:"owner"`
	ProgramID    string `json:"programId"`
	Amount       struct {
		Amount   string  `json:"amount"`
		Decimals uint32  `json:"decimals"`
		UIAmount float64 `json:"uiAmount"`
		UIString string  `json:"uiAmountString"`
	} `json:"uiTokenAmount"`
}

type rawReward struct {
	Pubkey      string `json:"pubkey"`
	Lamports    int64  `json:"lamports"`
	PostBalance uint64 `json:"postBalance"`
	RewardType  string `json:"rewardType"`
}

// rawKey is 32 bytes in base58, rawBase58 any bytes.
type (
	rawKey    []byte
	rawBase58 []byte
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *rawKey) UnmarshalText(text []byte) error {
	key, err := decodeKey(text)
	*k = key[:]
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *rawBase58) UnmarshalText(text []byte) error {
	if len(text) > maxData {
		return malformed("base58 of %d bytes", len(text))
	}
	out, err := decodeBase58(text)
	if err != nil {
		return malformed("no base58")
	}
	*b = out
	return nil
}

// appendJSON appends the update of a transaction in base64. The encodings json and jsonParsed lack
// some of what an update needs.
func (r *rawTransaction) appendJSON(to []byte, all bool) ([]byte, error) {
	var entry rawEntry
	if err := json.Unmarshal(r.all, &entry); err != nil {
		return to, malformed("%v", err)
	}
	var parts [2]string
	if json.Unmarshal(entry.Transaction, &parts) != nil || parts[1] != "base64" {
		return to, because(ErrUnsupported, "a transaction that is not in base64 cannot be passed on")
	}
	wire, err := base64.StdEncoding.DecodeString(parts[0])
	if err != nil {
		return to, malformed("transaction is no base64: %v", err)
	}
	transaction, ok := transactionOfWire(wire)
	if !ok {
		return to, malformed("transaction of %d bytes", len(wire))
	}
	meta, err := entry.meta()
	if err != nil {
		return to, err
	}
	touches := all || slices.ContainsFunc(slices.Concat(transaction.Message.AccountKeys, meta.LoadedWritableAddresses, meta.LoadedReadonlyAddresses), isSubscribed)
	if !touches {
		return to, nil
	}
	info := &pb.SubscribeUpdateTransactionInfo{Signature: transaction.Signatures[0], Transaction: transaction, Meta: meta, Index: uint64(r.index)}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(to, info)
}

// transactionOfWire decodes a transaction that wireTransaction has checked.
func transactionOfWire(wire []byte) (*pb.Transaction, bool) {
	c := cursor{data: wire}
	out := &pb.Transaction{Message: &pb.Message{Header: &pb.MessageHeader{}}}
	for range c.length() {
		if c.bad {
			return nil, false
		}
		out.Signatures = append(out.Signatures, c.take(64))
	}
	m := out.Message
	if len(c.data) > 0 && c.data[0]&0x80 != 0 {
		m.Versioned = true
		c.byte()
	}
	m.Header.NumRequiredSignatures, m.Header.NumReadonlySignedAccounts, m.Header.NumReadonlyUnsignedAccounts = uint32(c.byte()), uint32(c.byte()), uint32(c.byte())
	for range c.length() {
		m.AccountKeys = append(m.AccountKeys, c.take(32))
	}
	m.RecentBlockhash = c.take(32)
	for range c.length() {
		m.Instructions = append(m.Instructions, &pb.CompiledInstruction{
			ProgramIdIndex: uint32(c.byte()), Accounts: c.take(c.length()), Data: c.take(c.length()),
		})
	}
	if m.Versioned {
		for range c.length() {
			m.AddressTableLookups = append(m.AddressTableLookups, &pb.MessageAddressTableLookup{
				AccountKey: c.take(32), WritableIndexes: c.take(c.length()), ReadonlyIndexes: c.take(c.length()),
			})
		}
	}
	return out, !c.bad && len(out.Signatures) > 0
}

func (e *rawEntry) meta() (*pb.TransactionStatusMeta, error) {
	in := &e.Meta
	out := &pb.TransactionStatusMeta{
		Fee: in.Fee, PreBalances: in.PreBalances, PostBalances: in.PostBalances, ComputeUnitsConsumed: in.ComputeUnits, CostUnits: in.CostUnits,
		PreTokenBalances: tokenBalances(in.PreTokenBalances), PostTokenBalances: tokenBalances(in.PostTokenBalances),
		InnerInstructionsNone: in.InnerInstructions == nil, LogMessagesNone: in.LogMessages == nil, ReturnDataNone: in.ReturnData == nil,
	}
	if len(in.Err) > 0 && string(in.Err) != "null" {
		raw, err := txerror.Bincode(in.Err)
		if err != nil {
			return nil, fmt.Errorf("err %.100s: %w", in.Err, err)
		}
		out.Err = &pb.TransactionError{Err: raw}
	}
	for _, key := range in.Loaded.Writable {
		out.LoadedWritableAddresses = append(out.LoadedWritableAddresses, key)
	}
	for _, key := range in.Loaded.Readonly {
		out.LoadedReadonlyAddresses = append(out.LoadedReadonlyAddresses, key)
	}
	if in.LogMessages != nil {
		out.LogMessages = *in.LogMessages
	}
	if in.InnerInstructions != nil {
		out.InnerInstructions = innerInstructions(*in.InnerInstructions)
	}
	if in.ReturnData != nil {
		data, err := base64.StdEncoding.DecodeString(in.ReturnData.Data[0])
		if err != nil {
			return nil, malformed("return data is no base64: %v", err)
		}
		out.ReturnData = &pb.ReturnData{ProgramId: in.ReturnData.ProgramID, Data: data}
	}
	for _, reward := range in.Rewards {
		out.Rewards = append(out.Rewards, &pb.Reward{
			Pubkey: reward.Pubkey, Lamports: reward.Lamports, PostBalance: reward.PostBalance, RewardType: pb.RewardType(pb.RewardType_value[reward.RewardType]),
		})
	}
	return out, nil
}

func tokenBalances(list []rawBalance) (out []*pb.TokenBalance) {
	for i := range list {
		b := &list[i]
		out = append(out, &pb.TokenBalance{
			AccountIndex: b.AccountIndex, Mint: b.Mint, Owner: b.Owner, ProgramId: b.ProgramID,
			UiTokenAmount: &pb.UiTokenAmount{UiAmount: b.Amount.UIAmount, Decimals: b.Amount.Decimals, Amount: b.Amount.Amount, UiAmountString: b.Amount.UIString},
		})
	}
	return out
}

func innerInstructions(list []rawInner) (out []*pb.InnerInstructions) {
	for _, group := range list {
		inner := &pb.InnerInstructions{Index: group.Index}
		for i := range group.Instructions {
			ix := &group.Instructions[i]
			accounts := make([]byte, len(ix.Indexes))
			for j, index := range ix.Indexes {
				accounts[j] = byte(index)
			}
			inner.Instructions = append(inner.Instructions, &pb.InnerInstruction{
				ProgramIdIndex: ix.Program, Accounts: accounts, Data: ix.Data, StackHeight: ix.StackHeight,
			})
		}
		out = append(out, inner)
	}
	return out
}
