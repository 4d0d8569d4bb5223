// This is a day of a user of the Go client: search, batch, history, feed, quote, swap, errors, and
// a rate limit that is waited for. It runs against the node that tools/clients/run.sh names. Its
// argument is the client address that its requests state.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const sol = "So11111111111111111111111111111111111111112"

// from is a RoundTripper that states its text as the client's address in each request, so that this
// client has a rate limit of its own.
type from string

func (f from) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-Forwarded-For", string(f))
	return http.DefaultTransport.RoundTrip(request)
}

func main() {
	if err := day(); err != nil {
		log.Fatal(err)
	}
}

func day() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := client.New(client.Config{
		URL: os.Getenv("MINTLAKE_API"), SwapURL: os.Getenv("MINTLAKE_SWAP"), MaxWait: 90 * time.Second, HTTP: &http.Client{Transport: from(os.Args[1])},
	})
	if err != nil {
		return err
	}
	limit, market := int32(5), true
	found, err := c.Search(ctx, &rest.SearchTokensParams{Limit: &limit, Market: &market})
	if err != nil || len(found.Items) != 5 || found.Total < 5 {
		return fmt.Errorf("search: %d, %w", len(found.Items), err)
	}
	var mints []string
	for _, token := range found.Items {
		mints = append(mints, token.Mint)
	}
	history, err := c.History(ctx, mints[0], nil)
	if err != nil || len(history.Items) == 0 {
		return fmt.Errorf("history: %w", err)
	}
	for _, step := range []func(context.Context, *client.Client, []string) error{errorsAreTyped, feed, trade, limits} {
		if err := step(ctx, c, mints); err != nil {
			return err
		}
	}
	return nil
}

func errorsAreTyped(ctx context.Context, c *client.Client, _ []string) error {
	_, err := c.Token(ctx, sol[:len(sol)-1]+"9", nil)
	var refusal *client.Error
	if !client.IsNotFound(err) || !errors.As(err, &refusal) || refusal.RequestID == "" {
		return fmt.Errorf("an unknown mint is %w", err)
	}
	if _, err = c.QuoteSwap(ctx, sol, sol, "5", 50); !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest {
		return fmt.Errorf("a quote of a token for itself is %w", err)
	}
	return nil
}

// feed reads the feed until a change and a cursor have come, twice. The second time it goes on from
// the cursor of the first.
func feed(ctx context.Context, c *client.Client, _ []string) error {
	enough := errors.New("enough")
	params := &rest.StreamTokensParams{}
	for range 2 {
		changes := 0
		err := c.Follow(ctx, params, func(event client.Event) error {
			switch event.Kind {
			case client.EventNew, client.EventChanged:
				changes++
			case client.EventCursor:
				params.Cursor = &event.Cursor
				if changes > 0 {
					return enough
				}
			}
			return nil
		})
		if !errors.Is(err, enough) {
			return fmt.Errorf("feed: %w", err)
		}
		fmt.Println("feed:", changes, "changes")
	}
	return nil
}

// trade quotes a swap of SOL, and makes it with a new wallet.
func trade(ctx context.Context, c *client.Client, mints []string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	user, bought := pubkey.Key(public).String(), mints[0]
	if bought == sol {
		bought = mints[1]
	}
	if err := airdrop(ctx, user); err != nil {
		return err
	}
	quote, err := c.QuoteSwap(ctx, sol, bought, "1000000", 300)
	if err != nil || len(quote.Route) == 0 || quote.MinAmountOut == "" {
		return fmt.Errorf("quote: %+v, %w", quote, err)
	}
	answer, built, err := c.Swap(ctx, sol, bought, "1000000", 300, user, nil)
	if err != nil {
		return err
	}
	transaction, err := base64.StdEncoding.DecodeString(built.Txn)
	if err != nil || transaction[0] != 1 {
		return fmt.Errorf("a transaction of one signer: %w", err)
	}
	copy(transaction[1:], ed25519.Sign(private, transaction[1+ed25519.SignatureSize:]))
	sent, err := c.Send(ctx, answer, base64.StdEncoding.EncodeToString(transaction))
	if err != nil || sent.Status != "landed" || sent.AmountIn != "1000000" {
		return fmt.Errorf("send: %+v, %w", sent, err)
	}
	fmt.Println("swap:", sent.AmountIn, "lamports for", sent.AmountOut)
	return nil
}

// airdrop asks the demo chain to give a wallet 10 SOL.
func airdrop(ctx context.Context, user string) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":[%q,10000000000]}`, user)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("MINTLAKE_RPC"), strings.NewReader(body)) //nolint:gosec // the suite tells the address of its own node
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // some slots, until the airdrop is in a block
	return answer.Body.Close()
}

// limits asks for one batch more than the rate limit allows in a minute. The client waits until the
// minute is over.
func limits(ctx context.Context, c *client.Client, mints []string) error {
	begin := time.Now()
	for range 21 {
		batch, err := c.Batch(ctx, rest.BatchRequest{Mints: append([]string{"nothing"}, mints...)})
		if err != nil || len(batch.Items) != len(mints) || len(batch.Unknown) != 1 {
			return fmt.Errorf("batch: %w", err)
		}
	}
	waited := time.Since(begin).Round(time.Second)
	if waited < 30*time.Second {
		return fmt.Errorf("21 batches took %s: no limit was met", waited)
	}
	fmt.Println("21 batches, of which 20 are free a minute, took", waited)
	return nil
}
