package e2e

import (
	"encoding/base64"
	le "encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// keptSOL is what some users keep wrapped before they swap, in lamports.
const keptSOL = 7_000_000_000

// keep opens the user's account for wrapped SOL and puts keptSOL into it.
func (s *swapper) keep() error {
	user, mint := s.key.PublicKey(), solana.MustPublicKeyFromBase58(solMint)
	own, _, err := solana.FindAssociatedTokenAddress(user, mint)
	if err != nil {
		return err
	}
	s.own = own
	var latest struct {
		Value struct {
			Blockhash            string
			LastValidBlockHeight uint64
		}
	}
	if err := s.call(&latest, "getLatestBlockhash"); err != nil {
		return err
	}
	w, r := func(k solana.PublicKey) *solana.AccountMeta { return solana.Meta(k).WRITE() }, solana.Meta
	tx, err := solana.NewTransaction([]solana.Instruction{
		solana.NewInstruction(solana.SPLAssociatedTokenAccountProgramID, solana.AccountMetaSlice{
			w(user).SIGNER(), w(own), r(user), r(mint), r(solana.SystemProgramID), r(solana.TokenProgramID)}, []byte{1}),
		solana.NewInstruction(solana.SystemProgramID, solana.AccountMetaSlice{w(user).SIGNER(), w(own)}, le.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, keptSOL)),
		solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{w(own)}, []byte{17}),
	}, solana.MustHashFromBase58(latest.Value.Blockhash), solana.TransactionPayer(user))
	if err != nil {
		return err
	}
	wire, err := tx.MarshalBinary()
	if err != nil {
		return err
	}
	if wire, err = signed(wire, s.key); err != nil {
		return err
	}
	result, err := s.submit(wire, latest.Value.LastValidBlockHeight)
	if err == nil && result.Meta.Err != nil {
		err = fmt.Errorf("wrap SOL: %v", result.Meta.Err)
	}
	return err
}

// kept checks that what keep put aside is there still. Swaps may add to it.
func (s *swapper) kept() error {
	if s.own.IsZero() {
		return nil
	}
	var account struct{ Value *struct{ Data []string } }
	if err := s.call(&account, "getAccountInfo", s.own.String(), map[string]any{"encoding": "base64", "commitment": "processed"}); err != nil {
		return err
	}
	if account.Value == nil {
		return fmt.Errorf("the user's account for wrapped SOL is gone: %s", s.own)
	}
	data, err := base64.StdEncoding.DecodeString(account.Value.Data[0])
	if err != nil {
		return err
	}
	if amount := le.LittleEndian.Uint64(data[64:]); amount < keptSOL {
		return fmt.Errorf("%d lamports are left of the %d that the user kept wrapped", amount, uint64(keptSOL))
	}
	return nil
}

// opened is the user's account for wrapped SOL if the transaction opened it and left it open.
func (r *swapResult) opened(user string) string {
	before := map[int]bool{}
	for _, b := range r.Meta.PreTokens {
		before[b.AccountIndex] = true
	}
	for _, b := range r.Meta.PostTokens {
		if b.Mint == solMint && b.Owner == user && !before[b.AccountIndex] {
			return fmt.Sprint("account ", b.AccountIndex)
		}
	}
	return ""
}
