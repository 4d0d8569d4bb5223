package stream

import (
	"encoding/base64"
	"math"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/solana/txerror"
)

// The JSON of a transaction is the answer of getTransaction in the same encoding, plus the
// signature and the index in the block. So code that reads RPC answers reads it, too.

type jsonMeta struct {
	Err               any                `json:"err"`
	Status            any                `json:"status"`
	Fee               uint64             `json:"fee"`
	PreBalances       []uint64           `json:"preBalances"`
	PostBalances      []uint64           `json:"postBalances"`
	InnerInstructions []jsonInner        `json:"innerInstructions"`
	LogMessages       []string           `json:"logMessages"`
	PreTokenBalances  []jsonTokenBalance `json:"preTokenBalances"`
	PostTokenBalances []jsonTokenBalance `json:"postTokenBalances"`
	Rewards           *struct{}          `json:"rewards"`                   // null: there are none
	Loaded            *jsonLoaded        `json:"loadedAddresses,omitempty"` // not with jsonParsed
	ReturnData        *jsonReturn        `json:"returnData,omitempty"`
	ComputeUnits      *uint64            `json:"computeUnitsConsumed,omitempty"`
	CostUnits         *uint64            `json:"costUnits,omitempty"`
}

type jsonInner struct {
	Index uint32 `json:"index"`
	// Instructions are jsonInstruction or, with jsonParsed, jsonRecognized and jsonPartly.
	Instructions []any `json:"instructions"`
}

type jsonInstruction struct {
	ProgramIDIndex uint32  `json:"programIdIndex"`
	Accounts       []int   `json:"accounts"`
	Data           string  `json:"data"`
	StackHeight    *uint32 `json:"stackHeight"`
}

type jsonTokenBalance struct {
	AccountIndex uint32     `json:"accountIndex"`
	Mint         string     `json:"mint"`
	Owner        string     `json:"owner,omitempty"`
	ProgramID    string     `json:"programId,omitempty"`
	Amount       jsonAmount `json:"uiTokenAmount"`
}

type jsonAmount struct {
	Amount         string   `json:"amount"`
	Decimals       uint32   `json:"decimals"`
	UIAmount       *float64 `json:"uiAmount"`
	UIAmountString string   `json:"uiAmountString"`
}

type jsonLoaded struct {
	Writable []string `json:"writable"`
	Readonly []string `json:"readonly"`
}

type jsonReturn struct {
	ProgramID string    `json:"programId"`
	Data      [2]string `json:"data"`
}

func metaOf(in *pb.TransactionStatusMeta) *jsonMeta {
	m := &jsonMeta{
		Fee: in.Fee, PreBalances: orEmpty(in.PreBalances), PostBalances: orEmpty(in.PostBalances), ComputeUnits: in.ComputeUnitsConsumed, CostUnits: in.CostUnits,
		PreTokenBalances: tokenBalances(in.PreTokenBalances), PostTokenBalances: tokenBalances(in.PostTokenBalances),
		Loaded: &jsonLoaded{texts(in.LoadedWritableAddresses), texts(in.LoadedReadonlyAddresses)}, Status: map[string]any{"Ok": nil},
	}
	if in.Err != nil {
		m.Err = txerror.JSON(in.Err.Err)
		m.Status = map[string]any{"Err": m.Err}
	}
	if !in.LogMessagesNone {
		m.LogMessages = orEmpty(in.LogMessages)
	}
	if !in.InnerInstructionsNone {
		m.InnerInstructions = innerOf(in.InnerInstructions)
	}
	if r := in.ReturnData; r != nil {
		m.ReturnData = &jsonReturn{base58.Encode(r.ProgramId), [2]string{base64.StdEncoding.EncodeToString(r.Data), "base64"}}
	}
	return m
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func innerOf(list []*pb.InnerInstructions) []jsonInner {
	out := make([]jsonInner, 0, len(list))
	for _, group := range list {
		inner := jsonInner{Index: group.Index, Instructions: make([]any, 0, len(group.Instructions))}
		for _, ix := range group.Instructions {
			inner.Instructions = append(inner.Instructions, jsonInstruction{ix.ProgramIdIndex, numbers(ix.Accounts), base58.Encode(ix.Data), ix.StackHeight})
		}
		out = append(out, inner)
	}
	return out
}

func tokenBalances(list []*pb.TokenBalance) []jsonTokenBalance {
	out := make([]jsonTokenBalance, 0, len(list))
	for _, b := range list {
		amount := b.GetUiTokenAmount()
		balance := jsonTokenBalance{
			AccountIndex: b.AccountIndex, Mint: b.Mint, Owner: b.Owner, ProgramID: b.ProgramId,
			Amount: jsonAmount{Amount: amount.GetAmount(), Decimals: amount.GetDecimals(), UIAmountString: amount.GetUiAmountString()},
		}
		// Nodes answer null for zero. JSON has no infinity.
		if v := amount.GetUiAmount(); v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			balance.Amount.UIAmount = &v
		}
		out = append(out, balance)
	}
	return out
}

// texts encodes addresses, hashes or signatures in base58.
func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = base58.Encode(k)
	}
	return out
}
