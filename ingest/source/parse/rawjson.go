package parse

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/solana/txerror"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/solana/yellowstone"
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
		Indexes     []uint16  `json:"accounts"` // encoding/json would read a []byte as base64
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
	// Commission is in percent, CommissionBPS in basis points.
	Commission    *uint8  `json:"commission"`
	CommissionBPS *uint16 `json:"commissionBps"`
}

// message returns the reward as the protocol has it.
func (r *rawReward) message() *pb.Reward {
	out := &pb.Reward{Pubkey: r.Pubkey, Lamports: r.Lamports, PostBalance: r.PostBalance}
	yellowstone.SetRewardType(out, r.RewardType)
	if r.Commission != nil {
		out.Commission = strconv.Itoa(int(*r.Commission))
	}
	if r.CommissionBPS != nil {
		out.CommissionBps = strconv.Itoa(int(*r.CommissionBPS))
	}
	return out
}

// rawKey is 32 bytes, which JSON has in base58. rawBase58 is any number of such bytes.
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

// appendJSON appends the update of a transaction in base64. It returns ErrUnsupported for the
// encodings json and jsonParsed, which lack some of what an update needs.
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
	var parsed txwire.Transaction
	if err := parsed.Parse(wire); err != nil {
		return to, malformed("%v", err)
	}
	transaction := yellowstone.TransactionOf(&parsed)
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
	for i := range in.Rewards {
		out.Rewards = append(out.Rewards, in.Rewards[i].message())
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
