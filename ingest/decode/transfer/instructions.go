package transfer

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/spltoken"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/borsh"
)

// Instruction numbers of both token programs: interface/src/instruction.rs of solana-program/token
// and solana-program/token-2022.
const (
	tagInitializeAccount  = 1
	tagTransfer           = 3
	tagApprove            = 4
	tagRevoke             = 5
	tagSetAuthority       = 6
	tagMintTo             = 7
	tagBurn               = 8
	tagCloseAccount       = 9
	tagFreezeAccount      = 10
	tagThawAccount        = 11
	tagTransferChecked    = 12
	tagApproveChecked     = 13
	tagMintToChecked      = 14
	tagBurnChecked        = 15
	tagInitializeAccount2 = 16
	tagSyncNative         = 17
	tagInitializeAccount3 = 18
	tagExcessLamports     = 38
	tagUnwrapLamports     = 45
)

// Instruction numbers of Token-2022 alone. The second byte is the extension's own number.
const (
	tagTransferFee      = 26
	tagConfidential     = 27
	tagPermissionedBurn = 46

	feeTransferChecked   = 1
	feeWithdrawFromMint  = 2
	feeWithdrawFromMany  = 3
	feeHarvest           = 4
	confidentialDeposit  = 5
	confidentialWithdraw = 6
	permissionedPlain    = 1
	permissionedChecked  = 2
)

// authorityOwner is the AuthorityType of a token account's owner.
const authorityOwner = 2

// maxData is more than any instruction can hold (MAX_CPI_INSTRUCTION_DATA_LEN is 10 KiB).
const maxData = 16 << 10

// tokens reads a call of a token program.
func (w *walk) tokens(call *chain.Call, place Place, is22 bool) {
	if len(call.Data) == 0 || len(call.Data) > maxData {
		return
	}
	if !spltoken.IsBatch(call.Data) {
		w.token(call, place, is22)
		return
	}
	// A malformed Batch cannot have succeeded. The decoder of token events reports it.
	parts, _ := spltoken.SplitBatch(call)
	for i := range parts {
		place.Batch = i
		if len(parts[i].Data) > 0 {
			w.token(&parts[i], place, is22)
		}
	}
}

// token reads one instruction that is not a Batch.
func (w *walk) token(call *chain.Call, place Place, is22 bool) {
	c := borsh.NewReader(call.Data[1:])
	f := flow{place: place, from: None, to: None, authority: None, known: true, feeKnown: true}
	switch call.Data[0] {
	case tagTransfer:
		w.move(call, f, c.U64(), 0, 1, None, is22)
	case tagTransferChecked:
		w.move(call, f, c.U64(), 0, 2, 1, is22)
	case tagMintTo, tagMintToChecked:
		f.kind, f.to, f.amount = Mint, w.at(account(call, 1)), c.U64()
		w.add(f, w.key(call, 0))
	case tagBurn, tagBurnChecked:
		f.kind, f.from, f.amount, f.authority = Burn, w.at(account(call, 0)), c.U64(), account(call, 2)
		w.add(f, w.key(call, 1))
	case tagApprove, tagApproveChecked, tagRevoke, tagFreezeAccount, tagThawAccount:
		w.state(call, place, c)
	case tagInitializeAccount:
		w.initialize(call, f, w.key(call, 2))
	case tagInitializeAccount2, tagInitializeAccount3:
		w.initialize(call, f, c.Key())
	case tagSetAuthority:
		w.setOwner(call, place, c)
	case tagCloseAccount:
		w.closeAccount(call, f)
	case tagSyncNative:
		w.sync(call, f)
	case tagUnwrapLamports:
		w.unwrap(call, f, c)
	case tagExcessLamports:
		w.lamports.unclear(account(call, 0))
		w.lamports.unclear(account(call, 1))
	default:
		if is22 && len(call.Data) > 1 {
			w.extension(call, f, borsh.NewReader(call.Data[2:]))
		}
	}
}

// extension reads an instruction that Token-2022 alone has. c reads the data after the two
// instruction numbers.
func (w *walk) extension(call *chain.Call, f flow, c *borsh.Reader) {
	switch [2]byte{call.Data[0], call.Data[1]} {
	case [2]byte{tagTransferFee, feeTransferChecked}:
		amount := c.U64()
		c.Skip(1) // decimals
		f.fee = min(c.U64(), amount)
		if c.Err() == nil {
			w.move(call, f, amount, 0, 2, 1, false)
		}
	case [2]byte{tagTransferFee, feeWithdrawFromMint}, [2]byte{tagTransferFee, feeWithdrawFromMany}:
		f.kind, f.to, f.known = WithdrawWithheld, w.at(account(call, 1)), false
		w.add(f, w.key(call, 0))
	case [2]byte{tagTransferFee, feeHarvest}:
		for i := 1; i < len(call.Accounts); i++ {
			f.kind, f.from, f.known = Harvest, w.at(account(call, i)), false
			w.add(f, w.key(call, 0))
		}
	case [2]byte{tagConfidential, confidentialDeposit}:
		f.kind, f.from, f.amount = Deposit, w.at(account(call, 0)), c.U64()
		w.add(f, w.key(call, 1))
	case [2]byte{tagConfidential, confidentialWithdraw}:
		f.kind, f.to, f.amount = Withdraw, w.at(account(call, 0)), c.U64()
		w.add(f, w.key(call, 1))
	case [2]byte{tagPermissionedBurn, permissionedPlain}, [2]byte{tagPermissionedBurn, permissionedChecked}:
		f.kind, f.from, f.amount, f.authority = Burn, w.at(account(call, 0)), c.U64(), account(call, 3)
		w.add(f, w.key(call, 1))
	}
}

// move adds a movement between two accounts. from, to and mint are places among the call's
// accounts. mint is None if the instruction does not name the mint. withholds means that a fee is
// possible, which the instruction does not state.
func (w *walk) move(call *chain.Call, f flow, amount uint64, from, to, mint int, withholds bool) {
	f.kind, f.amount = Move, amount
	f.from, f.to, f.authority = w.at(account(call, from)), w.at(account(call, to)), account(call, to+1)
	// A transfer of an account to itself changes nothing, and no fee is withheld.
	f.feeKnown = !withholds || f.from == f.to
	w.add(f, w.key(call, mint))
}

// add appends a movement, with the mint and the owners of its accounts. mint is the mint that the
// instruction names; zero if it names none.
func (w *walk) add(f flow, mint pubkey.Key) {
	if f.from == None && f.to == None {
		return // the accounts are beyond the keys
	}
	f.mint = w.mintOf(&f, mint)
	if f.from != None {
		w.learn(f.from, f.mint)
		f.fromOwner = w.lives[f.from].owner
	}
	if f.to != None {
		w.learn(f.to, f.mint)
		f.toOwner = w.lives[f.to].owner
	}
	w.flows = append(w.flows, f)
}

// mintOf returns the mint of a movement: the one that the instruction names, or that of one of its
// accounts.
func (w *walk) mintOf(f *flow, named pubkey.Key) pubkey.Key {
	if named != (pubkey.Key{}) {
		return named
	}
	if f.from != None && w.lives[f.from].mint != (pubkey.Key{}) {
		return w.lives[f.from].mint
	}
	if f.to != None {
		return w.lives[f.to].mint
	}
	return pubkey.Key{}
}

// learn notes the mint of an account, if the mint is not known yet.
func (w *walk) learn(at int, mint pubkey.Key) {
	if l := &w.lives[at]; l.mint == (pubkey.Key{}) {
		l.mint = mint
	}
}

// initialize opens an account.
func (w *walk) initialize(call *chain.Call, f flow, owner pubkey.Key) {
	mint := w.key(call, 1)
	again := w.wasClosed(account(call, 0))
	at := w.open(account(call, 0), mint, owner)
	if again {
		w.note(f.place, Opened, at, pubkey.Key{}, 0)
	}
	if at == None || !isNative(&mint) {
		return
	}
	f.kind, f.to, f.known = Open, at, false
	f.hint, f.hinted = w.lamports.opened(account(call, 0), w.rent)
	w.add(f, mint)
}

// associated reads a call of the associated-token program. It opens the account that the call
// creates. The instructions that the program calls are read too. If the source lacks them, the call
// itself tells mint and owner.
func (w *walk) associated(call *chain.Call) {
	creates := len(call.Data) == 0 || call.Data[0] <= 1 // Create, CreateIdempotent
	if at := account(call, 1); creates && w.isKey(at) && w.current[at] == None {
		w.open(at, w.key(call, 3), w.key(call, 2))
	}
}

// setOwner notes the new owner of an account. The program then revokes the delegate.
func (w *walk) setOwner(call *chain.Call, place Place, c *borsh.Reader) {
	if kind, next := c.U8(), c.OptionKey(); kind == authorityOwner && next != nil && c.Err() == nil {
		if at := w.at(account(call, 0)); at != None {
			w.lives[at].owner = *next
			w.note(place, Revoked, at, pubkey.Key{}, 0)
		}
	}
}

// closeAccount ends the life of an account. It adds a movement if the account has wrapped SOL,
// which is paid out together with the rent.
func (w *walk) closeAccount(call *chain.Call, f flow) {
	account, to := account(call, 0), account(call, 1)
	w.lamports.unclear(to)
	w.lamports.closed(account)
	if !w.isKey(account) || w.current[account] == None {
		return // a mint, or a token account that the source does not tell
	}
	at := w.current[account]
	if isNative(&w.lives[at].mint) {
		f.kind, f.from, f.known = Close, at, false
		w.add(f, pubkey.Key{})
	}
	w.endLife(at)
}

// sync adds the lamports that came in since the account was opened or synced.
func (w *walk) sync(call *chain.Call, f flow) {
	f.kind, f.to, f.known = Sync, w.at(account(call, 0)), false
	f.hint, f.hinted = w.lamports.synced(account(call, 0))
	w.add(f, pubkey.Key{})
}

// unwrap reads UnwrapLamports, which pays out an amount, or all if it states none.
func (w *walk) unwrap(call *chain.Call, f flow, c *borsh.Reader) {
	w.lamports.unclear(account(call, 1))
	f.kind, f.from, f.authority = Unwrap, w.at(account(call, 0)), account(call, 2)
	if f.known = c.Bool(); f.known {
		f.amount = c.U64()
	}
	w.add(f, pubkey.Key{})
}

// account returns the transaction's index of the call's i-th account; None if there is none.
func account(call *chain.Call, i int) int {
	if i < 0 || i >= len(call.Accounts) {
		return None
	}
	return int(call.Accounts[i])
}

// key returns the key of the call's i-th account; zero if there is none.
func (w *walk) key(call *chain.Call, i int) pubkey.Key {
	key, _ := w.tx.Account(call, i)
	return key
}
