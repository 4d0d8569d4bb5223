package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	rpc "github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/testworld/chain"
)

// sender signs and sends transactions, and knows which it has sent.
type sender struct {
	rpc       *rpc.Client
	payer     solana.PrivateKey
	blockhash solana.Hash
	sent      []string
	failed    map[string]bool // signatures of transactions that failed on the chain
	wallets   map[string]solana.PrivateKey
}

// fund makes the payer and gives it SOL.
func (s *sender) fund(ctx context.Context) (err error) {
	if s.payer, err = newKey(); err != nil {
		return err
	}
	var signature string
	if err := s.rpc.Call(ctx, "requestAirdrop", []any{s.payer.PublicKey(), 100 * solana.LAMPORTS_PER_SOL}, &signature); err != nil {
		return err
	}
	s.sent = append(s.sent, signature)
	if err := s.landed(ctx); err != nil {
		return err
	}
	var latest struct {
		Value struct{ Blockhash solana.Hash }
	}
	err = s.rpc.Call(ctx, "getLatestBlockhash", nil, &latest)
	s.blockhash = latest.Value.Blockhash
	return err
}

// send signs and sends a transaction that the payer pays for. It skips the preflight simulation,
// which fails if the transaction needs an earlier one that has not landed yet.
func (s *sender) send(ctx context.Context, signers []solana.PrivateKey, instructions ...chain.Instruction) error {
	list := make([]solana.Instruction, len(instructions))
	for i, instruction := range instructions {
		accounts := make([]*solana.AccountMeta, len(instruction.Accounts))
		for k, meta := range instruction.Accounts {
			accounts[k] = &solana.AccountMeta{PublicKey: solana.PublicKey(meta.Key), IsSigner: meta.Signer, IsWritable: meta.Writable}
		}
		list[i] = solana.NewInstruction(solana.PublicKey(instruction.Program), accounts, instruction.Data)
	}
	tx, err := solana.NewTransaction(list, s.blockhash, solana.TransactionPayer(s.payer.PublicKey()))
	if err != nil {
		return err
	}
	signers = append(signers, s.payer)
	if _, err := tx.Sign(func(wanted solana.PublicKey) *solana.PrivateKey {
		for i := range signers {
			if signers[i].PublicKey() == wanted {
				return &signers[i]
			}
		}
		return nil
	}); err != nil {
		return err
	}
	raw, err := tx.ToBase64()
	if err != nil {
		return err
	}
	var signature string
	if err := s.rpc.Call(ctx, "sendTransaction", []any{raw, map[string]any{"encoding": "base64", "skipPreflight": true}}, &signature); err != nil {
		return err
	}
	s.sent = append(s.sent, signature)
	return nil
}

// landed waits until all sent transactions are confirmed, and notes which have failed.
func (s *sender) landed(ctx context.Context) error {
	const most = 256 // signatures in one call of getSignatureStatuses
	for waiting := s.sent; len(waiting) > 0; {
		ask := waiting[:min(len(waiting), most)]
		var statuses struct {
			Value []*struct {
				Err                any
				ConfirmationStatus string
			}
		}
		if err := s.rpc.Call(ctx, "getSignatureStatuses", []any{ask}, &statuses); err != nil {
			return err
		}
		done := 0
		for _, status := range statuses.Value {
			if status == nil || status.ConfirmationStatus == "processed" {
				break
			}
			s.failed[ask[done]] = status.Err != nil
			done++
		}
		waiting = waiting[done:]
		if done == len(ask) {
			continue
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d transactions have not landed", len(waiting)), ctx.Err())
		case <-time.After(100 * time.Millisecond): // a slot takes about 200 ms
		}
	}
	return nil
}
