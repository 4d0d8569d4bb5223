// Command solanago uses a running Mintlake through solana-go, as that library's documentation does:
// JSON-RPC, a WebSocket at the port after it, and transactions that are signed, sent and confirmed.
//
// In: MINTLAKE_RPC and MINTLAKE_RPC_WS, both with the demo chain behind them. Out: a line for each
// step that worked. The first step that fails ends the program with status 1.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/gagliardetto/solana-go/rpc"
	confirm "github.com/gagliardetto/solana-go/rpc/sendAndConfirmTransaction"
	"github.com/gagliardetto/solana-go/rpc/ws"
)

var usdc = solana.MustPublicKeyFromBase58("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "solana-go:", err)
		os.Exit(1)
	}
	fmt.Println("solana-go: all is well")
}

// session is one wallet with funds and its two connections.
type session struct {
	rpc    *rpc.Client
	ws     *ws.Client
	wallet solana.PrivateKey
}

func run(ctx context.Context) error {
	socket, err := ws.Connect(ctx, os.Getenv("MINTLAKE_RPC_WS"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer socket.Close()
	s := &session{rpc: rpc.New(os.Getenv("MINTLAKE_RPC")), ws: socket, wallet: solana.NewWallet().PrivateKey}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"airdrop", s.fund}, {"transfer", s.transfer}, {"mint", s.readMint}, {"holders", s.readHolders}, {"slots", s.followSlots}, {"refusal", s.beRefused}} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println("solana-go:", step.name)
	}
	return nil
}

// fund asks for an airdrop of 5 SOL and waits until the wallet has it.
func (s *session) fund(ctx context.Context) error {
	if _, err := s.rpc.RequestAirdrop(ctx, s.wallet.PublicKey(), 5*solana.LAMPORTS_PER_SOL, rpc.CommitmentConfirmed); err != nil {
		return err
	}
	for {
		balance, err := s.rpc.GetBalance(ctx, s.wallet.PublicKey(), rpc.CommitmentConfirmed)
		if err != nil {
			return err
		}
		if balance.Value == 5*solana.LAMPORTS_PER_SOL {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// transfer sends, confirms by the WebSocket, and reads what landed.
func (s *session) transfer(ctx context.Context) error {
	to := solana.NewWallet().PublicKey()
	tx, err := s.sign(ctx, to, 2_000_000)
	if err != nil {
		return err
	}
	signature, err := confirm.SendAndConfirmTransaction(ctx, s.rpc, s.ws, tx)
	if err != nil {
		return fmt.Errorf("send and confirm: %w", err)
	}
	balance, err := s.rpc.GetBalance(ctx, to, rpc.CommitmentConfirmed)
	if err != nil {
		return err
	}
	if balance.Value != 2_000_000 {
		return fmt.Errorf("the receiver has %d lamports", balance.Value)
	}
	version := uint64(0)
	landed, err := s.rpc.GetTransaction(ctx, signature, &rpc.GetTransactionOpts{Commitment: rpc.CommitmentConfirmed, MaxSupportedTransactionVersion: &version})
	if err != nil {
		return fmt.Errorf("read the transaction: %w", err)
	}
	read, err := landed.Transaction.GetTransaction()
	if err != nil {
		return err
	}
	if landed.Meta.Err != nil || read.Signatures[0] != signature {
		return fmt.Errorf("another transaction than was sent: %v, %s", landed.Meta.Err, read.Signatures[0])
	}
	return nil
}

func (s *session) sign(ctx context.Context, to solana.PublicKey, lamports uint64) (*solana.Transaction, error) {
	latest, err := s.rpc.GetLatestBlockhash(ctx, rpc.CommitmentFinalized)
	if err != nil {
		return nil, err
	}
	from := s.wallet.PublicKey()
	tx, err := solana.NewTransaction([]solana.Instruction{system.NewTransferInstruction(lamports, from, to).Build()}, latest.Value.Blockhash, solana.TransactionPayer(from))
	if err != nil {
		return nil, err
	}
	_, err = tx.Sign(func(key solana.PublicKey) *solana.PrivateKey {
		if key.Equals(from) {
			return &s.wallet
		}
		return nil
	})
	return tx, err
}

// readMint decodes a mint's account and compares it with what the node says of its supply.
func (s *session) readMint(ctx context.Context) error {
	info, err := s.rpc.GetAccountInfoWithOpts(ctx, usdc, &rpc.GetAccountInfoOpts{Encoding: solana.EncodingBase64Zstd, Commitment: rpc.CommitmentConfirmed})
	if err != nil {
		return err
	}
	var mint token.Mint
	if err := bin.NewBinDecoder(info.GetBinary()).Decode(&mint); err != nil {
		return err
	}
	supply, err := s.rpc.GetTokenSupply(ctx, usdc, rpc.CommitmentConfirmed)
	if err != nil {
		return err
	}
	if supply.Value.Decimals != mint.Decimals || mint.Decimals != 6 || mint.Supply == 0 {
		return fmt.Errorf("decimals %d and %d, supply %d", supply.Value.Decimals, mint.Decimals, mint.Supply)
	}
	return nil
}

// readHolders reads the largest accounts of a mint, several at once, and finds one by its owner.
func (s *session) readHolders(ctx context.Context) error {
	largest, err := s.rpc.GetTokenLargestAccounts(ctx, usdc, rpc.CommitmentConfirmed)
	if err != nil {
		return err
	}
	var addresses []solana.PublicKey
	for _, holder := range largest.Value {
		addresses = append(addresses, holder.Address)
	}
	accounts, err := s.rpc.GetMultipleAccountsWithOpts(ctx, addresses, &rpc.GetMultipleAccountsOpts{Encoding: solana.EncodingBase64, Commitment: rpc.CommitmentConfirmed})
	if err != nil {
		return err
	}
	if len(accounts.Value) != 20 {
		return fmt.Errorf("%d accounts, not 20", len(accounts.Value))
	}
	var first token.Account
	if err := bin.NewBinDecoder(accounts.Value[0].Data.GetBinary()).Decode(&first); err != nil {
		return err
	}
	owned, err := s.rpc.GetTokenAccountsByOwner(ctx, first.Owner, &rpc.GetTokenAccountsConfig{Mint: &usdc},
		&rpc.GetTokenAccountsOpts{Encoding: solana.EncodingBase64, Commitment: rpc.CommitmentConfirmed})
	if err != nil {
		return err
	}
	for _, account := range owned.Value {
		if account.Pubkey == addresses[0] {
			return nil
		}
	}
	return fmt.Errorf("%s is not among the accounts of its owner %s", addresses[0], first.Owner)
}

// followSlots receives four slots and checks that they rise.
func (s *session) followSlots(ctx context.Context) error {
	slots, err := s.ws.SlotSubscribe()
	if err != nil {
		return err
	}
	defer slots.Unsubscribe()
	last := uint64(0)
	for range 4 {
		slot, err := slots.Recv(ctx)
		if err != nil {
			return err
		}
		if slot.Slot <= last || slot.Parent >= slot.Slot || slot.Root > slot.Slot {
			return fmt.Errorf("%+v after slot %d", *slot, last)
		}
		last = slot.Slot
	}
	return nil
}

// beRefused checks that a transaction which cannot land is refused: it is simulated before it is
// sent.
func (s *session) beRefused(ctx context.Context) error {
	tx, err := s.sign(ctx, solana.NewWallet().PublicKey(), 1_000*solana.LAMPORTS_PER_SOL)
	if err != nil {
		return err
	}
	if signature, err := s.rpc.SendTransaction(ctx, tx); err == nil {
		return fmt.Errorf("more than the wallet has was sent: %s", signature)
	}
	return nil
}
