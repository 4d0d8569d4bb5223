package rpc

import (
	"encoding/json"
	"fmt"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// maxRange is the most slots that getBlocks and getBlocksWithLimit cover.
const maxRange = 500_000

func getBlock(s *Server, params []json.RawMessage) (any, error) {
	slot, err := jsonrpc.Arg[uint64](params, 0, "slot")
	if err != nil {
		return nil, err
	}
	o, err := blockOptions(params)
	if err != nil {
		return nil, err
	}
	if err := o.checkEncoding(); err != nil {
		return nil, err
	}
	c, err := o.level()
	if err != nil {
		return nil, err
	}
	if c == ledger.Processed {
		return nil, jsonrpc.InvalidParams("Method does not support commitment below `confirmed`")
	}
	b, level, ok := s.ledger.Block(slot)
	switch {
	case ok && level >= c:
		if s.future != nil && s.future(slot) && o.hasVersions() {
			if err := o.checkVersion(futureVersion); err != nil {
				return nil, err
			}
		}
		return encodeBlock(b, &o)
	case slot < s.ledger.First():
		return nil, &jsonrpc.Error{Code: codeBlockCleanedUp, Message: fmt.Sprintf("Block %d cleaned up, does not exist on node. First available block: %d", slot, s.ledger.First())}
	case slot > s.ledger.Slot(c):
		return nil, &jsonrpc.Error{Code: codeBlockNotAvailable, Message: fmt.Sprintf("Block not available for slot %d", slot)}
	}
	return nil, &jsonrpc.Error{Code: codeSlotSkipped, Message: fmt.Sprintf("Slot %d was skipped, or missing due to ledger jump to recent snapshot", slot)}
}

// futureVersion is the version that blocks of Deps.Future are said to have.
const futureVersion = txwire.Highest + 1

// hasVersions returns whether the answer has transactions, whose versions matter.
func (o *options) hasVersions() bool {
	return o.TransactionDetails != "none" && o.TransactionDetails != "signatures"
}

// blockOptions decodes the second parameter: an object, or only the encoding as a string.
func blockOptions(params []json.RawMessage) (options, error) {
	if len(params) > 1 && len(params[1]) > 0 && params[1][0] == '"' {
		var o options
		err := json.Unmarshal(params[1], &o.Encoding)
		return o, err
	}
	return opts(params, 1)
}

// Block is the result of getBlock.
type Block struct {
	BlockHeight       uint64       `json:"blockHeight"`
	BlockTime         int64        `json:"blockTime"`
	Blockhash         string       `json:"blockhash"`
	NumRewardParts    *uint64      `json:"numRewardPartitions,omitempty"`
	ParentSlot        uint64       `json:"parentSlot"`
	PreviousBlockhash string       `json:"previousBlockhash"`
	Rewards           []rewardJSON `json:"rewards,omitempty"`
	// Of a block without transactions these are empty lists. They are left out only where the
	// details do not have them.
	Signatures   []string `json:"signatures,omitzero"`
	Transactions []any    `json:"transactions,omitzero"`
}

type rewardJSON struct {
	Commission  *uint8  `json:"commission"`
	BPS         *uint16 `json:"commissionBps"`
	Lamports    int64   `json:"lamports"`
	PostBalance uint64  `json:"postBalance"`
	Pubkey      string  `json:"pubkey"`
	RewardType  string  `json:"rewardType"`
}

// encodeBlock gives a block with as much of its transactions as the options ask for.
func encodeBlock(b *chain.Block, o *options) (*Block, error) {
	out := &Block{BlockHeight: b.Height, BlockTime: b.Time, Blockhash: b.Hash.String(), ParentSlot: b.Parent, PreviousBlockhash: b.ParentHash.String()}
	if o.Rewards == nil || *o.Rewards {
		out.Rewards = []rewardJSON{{Lamports: int64(b.LeaderReward()), PostBalance: b.LeaderReward(), Pubkey: b.Leader.String(), RewardType: "Fee"}}
	}
	switch o.TransactionDetails {
	case "none":
		return out, nil
	case "signatures":
		out.Signatures = make([]string, len(b.Txs))
		for i, tx := range b.Txs {
			out.Signatures[i] = tx.Signatures[0].String()
		}
		return out, nil
	case "", "full", detailsAccounts:
	default:
		return nil, jsonrpc.InvalidParams("unknown variant `%s`, expected one of `full`, `signatures`, `none`, `accounts`", o.TransactionDetails)
	}
	out.Transactions = make([]any, len(b.Txs))
	for i, tx := range b.Txs {
		t, err := encodeTx(tx, o)
		if err != nil {
			return nil, err
		}
		out.Transactions[i] = t
	}
	return out, nil
}

// Encode gives a block as getBlock's result with encoding base64 and full details, for files that a
// `file:` source reads.
func Encode(b *chain.Block) ([]byte, error) { return encode(b, "full") }

// EncodeHeader is like Encode, without the transactions.
func EncodeHeader(b *chain.Block) ([]byte, error) { return encode(b, "none") }

func encode(b *chain.Block, details string) ([]byte, error) {
	v := uint8(txwire.Highest)
	r, err := encodeBlock(b, &options{AccountOptions: jsonrpc.AccountOptions{Encoding: "base64"}, TransactionDetails: details, MaxSupportedTransactionVersion: &v})
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode block %d: %w", b.Slot, err)
	}
	return out, nil
}

// getBlocks lists the slots with blocks. The second parameter is the end slot or, if it is an
// object, already the options.
func getBlocks(s *Server, params []json.RawMessage) (any, error) {
	from, err := jsonrpc.Arg[uint64](params, 0, "start_slot")
	if err != nil {
		return nil, err
	}
	at := 1
	var end *uint64
	if len(params) > 1 && len(params[1]) > 0 && params[1][0] != '{' {
		if end, err = jsonrpc.Arg[*uint64](params, 1, "end_slot"); err != nil {
			return nil, err
		}
		at = 2
	}
	o, err := opts(params, at)
	if err != nil {
		return nil, err
	}
	c, err := confirmedAtLeast(&o)
	if err != nil {
		return nil, err
	}
	to := s.ledger.Slot(c)
	if end != nil {
		to = min(to, *end)
		if *end > from && *end-from > maxRange {
			return nil, jsonrpc.InvalidParams("Slot range too large; max %d", maxRange)
		}
	}
	return s.ledger.Slots(from, to, maxRange, c), nil
}

func confirmedAtLeast(o *options) (ledger.Commitment, error) {
	c, err := o.level()
	if err == nil && c == ledger.Processed {
		err = jsonrpc.InvalidParams("Method does not support commitment below `confirmed`")
	}
	return c, err
}

func getBlocksWithLimit(s *Server, params []json.RawMessage) (any, error) {
	from, err := jsonrpc.Arg[uint64](params, 0, "start_slot")
	if err != nil {
		return nil, err
	}
	limit, err := jsonrpc.Arg[int](params, 1, "limit")
	if err != nil {
		return nil, err
	}
	o, err := opts(params, 2)
	if err != nil {
		return nil, err
	}
	c, err := confirmedAtLeast(&o)
	if err != nil {
		return nil, err
	}
	if limit < 0 || limit > maxRange {
		return nil, jsonrpc.InvalidParams("Limit too large; max %d", maxRange)
	}
	return s.ledger.Slots(from, s.ledger.Slot(c), limit, c), nil
}

func getBlockTime(s *Server, params []json.RawMessage) (any, error) {
	slot, err := jsonrpc.Arg[uint64](params, 0, "slot")
	if err != nil {
		return nil, err
	}
	b, _, ok := s.ledger.Block(slot)
	if !ok {
		return nil, &jsonrpc.Error{Code: codeLongTermSkipped, Message: fmt.Sprintf("Slot %d was skipped, or missing in long-term storage", slot)}
	}
	return b.Time, nil
}

func getFirstAvailableBlock(s *Server, _ []json.RawMessage) (any, error) {
	return s.ledger.First(), nil
}
