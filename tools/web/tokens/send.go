package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gagliardetto/solana-go"
)

// node is a JSON-RPC server.
type node struct{ url string }

// call asks for a method, and asks again while the server has no room.
func (n node) call(ctx context.Context, into any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", method, response.Status, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %d %s", method, answer.Error.Code, answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, into)
}

// sender signs and sends transactions, and knows which it has sent.
type sender struct {
	node
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
	if err := s.call(ctx, &signature, "requestAirdrop", s.payer.PublicKey(), 100*solana.LAMPORTS_PER_SOL); err != nil {
		return err
	}
	s.sent = append(s.sent, signature)
	if err := s.landed(ctx); err != nil {
		return err
	}
	var latest struct {
		Value struct{ Blockhash solana.Hash }
	}
	err = s.call(ctx, &latest, "getLatestBlockhash")
	s.blockhash = latest.Value.Blockhash
	return err
}

// send sends a transaction of the payer. It asks for no simulation: a transaction may need one that
// was sent before it and has not landed yet.
func (s *sender) send(ctx context.Context, signers []solana.PrivateKey, instructions ...solana.Instruction) error {
	tx, err := solana.NewTransaction(instructions, s.blockhash, solana.TransactionPayer(s.payer.PublicKey()))
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
	if err := s.call(ctx, &signature, "sendTransaction", raw, map[string]any{"encoding": "base64", "skipPreflight": true}); err != nil {
		return err
	}
	s.sent = append(s.sent, signature)
	return nil
}

// landed waits until all that was sent is confirmed, and notes what failed.
func (s *sender) landed(ctx context.Context) error {
	const most = 256 // of getSignatureStatuses
	for waiting := s.sent; len(waiting) > 0; {
		ask := waiting[:min(len(waiting), most)]
		var statuses struct {
			Value []*struct {
				Err                any
				ConfirmationStatus string
			}
		}
		if err := s.call(ctx, &statuses, "getSignatureStatuses", ask); err != nil {
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
		case <-time.After(100 * time.Millisecond): // a block takes 200
		}
	}
	return nil
}
