package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

const (
	// filledPools is how many a self-hosted peer reads in two minutes, by its own account.
	filledPools = 158_000
	// mostDrains is how many times the time of a plain drain a cold start may take.
	mostDrains = 2.0
	coldTurns  = 7
)

// coldStarts measures how long it takes until the pools of all pairs are known, against a plain
// drain of the same getProgramAccounts. The server is a process of its own.
func coldStarts(r *report.Report) error {
	server, url, err := startAccounts(filledPools)
	if err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	client, err := solana.NewClient(solana.Config{Endpoints: []string{url}}, solana.Deps{})
	if err != nil {
		return err
	}
	filter, _ := cpmm.Venue{}.Lookup(pubkey.Key{}, pubkey.Key{}).Filters[0].Whole()
	var drains, fills []float64
	for range coldTurns {
		began := time.Now()
		if err := drain(url, filter.MintsAt[0]); err != nil {
			return err
		}
		drains = append(drains, time.Since(began).Seconds()*1000)
		began = time.Now()
		d := &market.Directory{}
		listed, err := d.List(context.Background(), client, cpmm.Venue{}, 0)
		if err != nil {
			return err
		}
		d.Fill(listed)
		found, _ := d.Find(cpmm.Program, token(filledPools/2), mint.WrappedSOL)
		fills = append(fills, time.Since(began).Seconds()*1000)
		if d.Len() != filledPools || len(found) != 1 {
			return fmt.Errorf("%d pools are known, %d of one pair", d.Len(), len(found))
		}
	}
	r.Add(report.Figure{
		Name: fmt.Sprintf("cold start, %d pools", filledPools), Value: median(fills), Unit: "ms", Peer: "plain drain", PeerValue: median(drains),
		Goal: fmt.Sprintf("ratio <= %.0f", mostDrains), Met: median(fills) <= mostDrains*median(drains), Note: "all pairs known; a pair is read when somebody asks",
	})
	return nil
}

// drain calls getProgramAccounts and drops the response.
func drain(url string, mintsAt int) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"getProgramAccounts","params":[%q,{"encoding":"base64","dataSlice":{"offset":%d,"length":64}}]}`, cpmm.Program, mintsAt)
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func startAccounts(count int) (*exec.Cmd, string, error) {
	cmd := exec.Command(os.Args[0], "-serve-accounts", fmt.Sprint(count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(line), err
}

// serveAccounts answers getProgramAccounts with so many CPMM pools, and applies the data slice. It
// encodes each response anew, as a node does.
func serveAccounts(count int) error {
	t, err := cpmmTemplate()
	if err != nil {
		return err
	}
	addresses, datas := make([]pubkey.Key, count), make([][]byte, count)
	for i := range count {
		p := t.pool(fmt.Sprint("pool ", i), [2]pubkey.Key{token(i), mint.WrappedSOL}, [2]uint64{1, 1})
		addresses[i], datas[i] = p.accounts[0].key, p.accounts[0].Data
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { //nolint:gosec // for the program itself
		var request struct{ Params []json.RawMessage }
		var options struct{ DataSlice solana.DataSlice }
		if json.NewDecoder(q.Body).Decode(&request) != nil || len(request.Params) != 2 || json.Unmarshal(request.Params[1], &options) != nil {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		out := bufio.NewWriterSize(w, 64<<10)
		text := []byte(`{"jsonrpc":"2.0","result":[`)
		for i, data := range datas {
			if i > 0 {
				text = append(text, ',')
			}
			from := min(options.DataSlice.Offset, uint64(len(data)))
			text = append(text, `{"account":{"data":["`...)
			text = base64.StdEncoding.AppendEncode(text, data[from:min(from+options.DataSlice.Length, uint64(len(data)))])
			text = append(text, `","base64"],"executable":false,"lamports":5324400,"owner":"CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C","rentEpoch":18446744073709551615,"space":637},"pubkey":"`...)
			text = append(text, base58.Encode(addresses[i][:])...)
			text = append(text, `"}`...)
			if _, err := out.Write(text); err != nil {
				return
			}
			text = text[:0]
		}
		_, _ = out.WriteString(`],"id":1}`)
		_ = out.Flush()
	}))
}
