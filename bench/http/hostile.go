package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Sizes of what hostile clients do, from the project's goals.
const (
	lorisClients    = 1_000
	idleConnections = 10_000
	floodAddresses  = 100_000
	// perAddress stays below the connections that a node grants one client.
	perAddress = 400
)

// dial opens connection number i, so that no address of this machine has more than perAddress.
func dial(ctx context.Context, url string, i int) (net.Conn, error) {
	from := net.IPv4(127, 0, 1, byte(1+i/perAddress))
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 10 * time.Second}
	return dialer.DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
}

// loris measures a well-behaved client beside slow-loris clients: each of these sends a request a
// byte a second and never ends it. It opens a new connection when the node closes the old one.
func (s *settings) loris(p *process) error {
	s.measureOther("nobody else", p, nil)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var open, closed atomic.Int64
	for i := range lorisClients {
		group.Go(func() {
			for ctx.Err() == nil {
				c, err := dial(ctx, p.url, i)
				if err != nil {
					continue
				}
				open.Add(1)
				_, err = fmt.Fprint(c, "GET /tokens HTTP/1.1\r\nHost: x\r\nX-Slow: ")
				for err == nil && ctx.Err() == nil {
					time.Sleep(time.Second)
					_, err = c.Write([]byte("z"))
				}
				_ = c.Close()
				open.Add(-1)
				closed.Add(1)
			}
		})
	}
	time.Sleep(3 * time.Second)
	s.measureOther(fmt.Sprintf("%d slow-loris clients", lorisClients), p, func() string { return fmt.Sprintf("%d open, %d were closed", open.Load(), closed.Load()) })
	stop()
	group.Wait()
	return nil
}

// idle measures a well-behaved client beside idle connections. Half of these send one request, half
// send nothing; all stay open.
func (s *settings) idle(p *process) error {
	ctx := context.Background()
	var held []net.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close()
		}
	}()
	refused := 0
	for i := range idleConnections {
		c, err := dial(ctx, p.url, i)
		if err != nil {
			refused++
			continue
		}
		held = append(held, c)
		if i%2 == 0 {
			_, _ = fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		}
	}
	if len(held) < idleConnections {
		return errors.New("cannot hold the connections: see ulimit -n")
	}
	s.measureOther(fmt.Sprintf("%d idle connections", idleConnections), p, func() string { return fmt.Sprintf("%d not taken", refused) })
	return nil
}

// flood measures a well-behaved client beside a flood: a trusted proxy that passes on requests of
// many clients as fast as the node answers.
func (s *settings) flood(p *process) error {
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var asked, addresses atomic.Int64
	client := clientOf(p.url, s.connections)
	for range s.connections {
		group.Go(func() {
			for ctx.Err() == nil {
				n := addresses.Add(1) % floodAddresses
				forwarded := net.IPv4(100, byte(n>>16), byte(n>>8), byte(n)).String()
				_ = ask(client, p.url, "/tokens/"+mint(int(n)), nil, func(r *fasthttp.Request) { r.Header.Set("X-Forwarded-For", forwarded) })
				asked.Add(1)
			}
		})
	}
	time.Sleep(3 * time.Second)
	r := s.askAsOthers(p)
	s.reportOther(fmt.Sprintf("flood from %d addresses", floodAddresses), r, r.String()+p.memory()+fmt.Sprintf(", flood %d requests", asked.Load()))
	stop()
	group.Wait()
	return nil
}

// askAsOthers sends 100 requests a second. Each second they come from another client address, so
// that no address reaches its rate limit.
func (s *settings) askAsOthers(p *process) *result {
	client := clientOf(p.url, 64)
	var group sync.WaitGroup
	var failed atomic.Int64
	count := 100 * 2 * s.seconds
	times := make([]time.Duration, count)
	begin := time.Now()
	for i := range count {
		due := begin.Add(time.Duration(i) * 10 * time.Millisecond)
		time.Sleep(time.Until(due))
		group.Go(func() {
			forwarded := fmt.Sprintf("203.0.113.%d", i/100)
			if ask(client, p.url, "/tokens/"+mint(1+i), nil, func(r *fasthttp.Request) { r.Header.Set("X-Forwarded-For", forwarded) }) != nil {
				failed.Add(1)
			}
			times[i] = time.Since(due)
		})
	}
	group.Wait()
	return newResult(times, int(failed.Load()), time.Since(begin))
}
