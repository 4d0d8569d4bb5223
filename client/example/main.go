// This is the example of the client's README: it looks up a token and waits for a new one.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
)

func main() {
	ctx := context.Background()
	mintlake, err := client.New(client.Config{URL: cmp.Or(os.Getenv("MINTLAKE_URL"), "http://127.0.0.1:8080")})
	if err != nil {
		log.Fatal(err)
	}

	text, limit := "usdc", int32(5)
	found, err := mintlake.Search(ctx, &rest.SearchTokensParams{Q: &text, Limit: &limit})
	if err != nil {
		log.Fatal(err)
	}
	if len(found.Items) == 0 {
		log.Fatal("no token of that name yet")
	}
	first := found.Items[0]
	fmt.Println(first.Symbol, first.Mint)

	token, err := mintlake.Token(ctx, first.Mint, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("decimals", token.Decimals)

	// New and changed tokens as they come. Store each cursor to go on from there after a restart.
	enough := errors.New("one is enough")
	err = mintlake.Follow(ctx, nil, func(event client.Event) error {
		if event.Kind != client.EventNew && event.Kind != client.EventChanged {
			return nil
		}
		fmt.Println(event.Kind, event.Token.Symbol)
		return enough
	})
	if !errors.Is(err, enough) {
		log.Fatal(err)
	}
}
