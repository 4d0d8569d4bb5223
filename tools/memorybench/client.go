package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/mintlake/mintlake/registry/registrytest"
)

// client asks a node, one question after another. It is a process of its own: beside the broker and the writer of updates it would wait for their
// goroutines, and take that for the node's time.
type client struct {
	url    string
	tokens int
	seed   uint64
}

// figures are what a client saw, and what the node took of its cores meanwhile.
type figures struct {
	Lookups, Searches times
	node              time.Duration
}

type times []time.Duration

func (t times) quantiles() string {
	slices.Sort(t)
	of := func(q float64) time.Duration { return t[min(int(q*float64(len(t))), len(t)-1)].Round(time.Microsecond) }
	return fmt.Sprintf("p50 %v p99 %v", of(.5), of(.99))
}

// startClient runs this program again as a client, and waits for its figures.
func startClient(ctx context.Context, o *options, n *node, size int, seed uint64, length time.Duration) (f figures, err error) {
	program, err := os.Executable()
	if err != nil {
		return f, fmt.Errorf("start a client: %w", err)
	}
	//nolint:gosec // this program
	command := exec.CommandContext(ctx, program, "--ask", n.url, "--tokens", strconv.Itoa(size), "--seed", strconv.FormatUint(seed, 10), "--phase", length.String(), "--lists", o.lists)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, os.Stderr
	if err := runFirst(command); err != nil {
		return f, fmt.Errorf("ask the node: %w", err)
	}
	if err := json.Unmarshal(said.Bytes(), &f); err != nil {
		return f, fmt.Errorf("read what the client said: %w", err)
	}
	return f, nil
}

// run asks until the phase is over, and prints the figures for startClient.
func (c *client) run(o *options) error {
	lists, err := registrytest.ReadLists(o.lists)
	if err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	corpus := registrytest.NewCorpus(1, lists)
	random := rand.New(rand.NewPCG(1, c.seed)) //nolint:gosec // a measurement's
	var f figures
	for begin := time.Now(); time.Since(begin) < o.phase; {
		token := corpus.Token(random.IntN(c.tokens))
		took, err := ask(c.url + "/tokens/" + token.Mint)
		if err != nil {
			return err
		}
		f.Lookups = append(f.Lookups, took)
		query := token.Symbol
		switch random.IntN(4) {
		case 0:
			query = ""
		case 1:
			query = token.Name[:len(token.Name)/2]
		}
		if took, err = ask(c.url + "/tokens?limit=20&q=" + url.QueryEscape(query)); err != nil {
			return err
		}
		f.Searches = append(f.Searches, took)
	}
	text, err := json.Marshal(f)
	fmt.Println(string(text))
	return err //nolint:wrapcheck // never
}

func ask(address string) (time.Duration, error) {
	begin := time.Now()
	response, err := http.Get(address) //nolint:noctx,gosec // on loopback, and short
	if err != nil {
		return 0, fmt.Errorf("ask: %w", err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests {
		return 0, fmt.Errorf("ask %s: %s", address, response.Status)
	}
	return time.Since(begin), err //nolint:wrapcheck // never
}
