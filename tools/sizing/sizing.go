package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The marks in the document around the measured costs and the computed table.
const (
	costsBegin, costsEnd = "<!-- costs -->", "<!-- end of costs -->"
	tableBegin, tableEnd = "<!-- computed: go run ./tools/sizing -write -->", "<!-- end of computed -->"
)

// What the formula assumes; the document says the same.
const (
	// busy is the share of a processor that is planned for: the rest lets a member catch up at
	// twice the rate.
	busy = 0.5
	// coresANode is how many processors a node has.
	coresANode = 2
	// shares is how many partitions a projector has at least, so that members may be added and skew
	// evens out.
	shares = 2
	// brokerMB is how many megabytes a second a broker is given to write, copies included.
	brokerMB = 50
	// copies of each record in Kafka.
	copies = 3
	// serverCores is how many processors a ClickHouse server has, and serverCopies how many servers
	// have each row.
	serverCores  = 8
	serverCopies = 2
	// leastNodes is the least number of nodes of a kind, so that one may be replaced while another
	// works.
	leastNodes = 2
)

// cost is one row of the measured costs.
type cost struct {
	// rate is how often the work happens in a second at the load of mainnet.
	rate float64
	// perMillion is the cost of a million pieces of the work: processor seconds, megabytes, or MiB
	// of memory.
	perMillion float64
}

// The rows that the formula needs, by their names in the document.
const (
	ofIngest    = "ingest: transaction"
	ofProjector = "projector: record"
	ofAPI       = "API node: record"
	ofKafka     = "Kafka: byte"
	ofMemory    = "API node's memory: token"

	ofClickHouse = "ClickHouse and volume: record"
	ofRead       = "enrich: mint read"
	ofDocument   = "enrich: document of a mint"
	ofStream     = "gateway: transaction of the stream"
	ofDelivery   = "gateway: delivery to a client of the stream"
	ofCall       = "gateway: call"
	ofQuote      = "swap: quote"
)

var rows = []string{
	ofIngest, ofProjector, ofAPI, ofKafka, ofMemory, ofClickHouse, ofRead, ofDocument, ofStream, ofDelivery, ofCall, ofQuote,
}

// parseCosts reads the rows between the marks: name, rate, cost.
func parseCosts(text string) (map[string]cost, error) {
	section, err := between(text, costsBegin, costsEnd)
	if err != nil {
		return nil, err
	}
	costs := make(map[string]cost)
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		rate, rateErr := number(cells[2])
		per, perErr := number(cells[3])
		if rateErr != nil || perErr != nil {
			continue // the heading
		}
		costs[strings.TrimSpace(cells[1])] = cost{rate: rate, perMillion: per}
	}
	for _, name := range rows {
		if c, ok := costs[name]; !ok || c.rate <= 0 || c.perMillion <= 0 {
			return nil, fmt.Errorf("the costs have no row %q with two positive numbers", name)
		}
	}
	return costs, nil
}

// number reads 1,566 or 12.5.
func number(cell string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(cell), ",", ""), 64)
}

func between(text, begin, end string) (string, error) {
	_, rest, ok := strings.Cut(text, begin)
	if !ok {
		return "", fmt.Errorf("no %s", begin)
	}
	section, _, ok := strings.Cut(rest, end)
	if !ok {
		return "", errors.New("no " + end)
	}
	return section, nil
}

func replaceTable(text, table string) (string, error) {
	old, err := between(text, tableBegin, tableEnd)
	if err != nil {
		return "", err
	}
	return strings.Replace(text, tableBegin+old+tableEnd, tableBegin+"\n"+table+tableEnd, 1), nil
}

// size is what a multiple of mainnet's load needs.
type size struct {
	cores                  map[string]float64
	projectors, partitions int
	kafkaMB                float64
	brokers                int
	tokensAYear, memoryGiB float64
	servers                int
	enrichers              int
	gateways, swaps        int
}

// of returns how many processors several kinds of work need together.
func (s size) of(names ...string) (sum float64) {
	for _, name := range names {
		sum += s.cores[name]
	}
	return sum
}

// nodes returns how many nodes can do work processors' worth of work, if each node has perNode
// processors. It is at least leastNodes.
func nodes(work, perNode float64) int { return max(leastNodes, int(math.Ceil(work/perNode))) }

// sizeOf returns what times the load of mainnet needs.
func sizeOf(costs map[string]cost, times float64) size {
	s := size{cores: make(map[string]float64)}
	for _, name := range rows {
		if name == ofKafka || name == ofMemory {
			continue
		}
		s.cores[name] = times * costs[name].rate * costs[name].perMillion / 1e6 / busy
	}
	s.projectors = nodes(s.cores[ofProjector], coresANode)
	s.enrichers = nodes(s.of(ofRead, ofDocument), coresANode)
	s.gateways = nodes(s.of(ofDelivery, ofCall), coresANode)
	s.swaps = nodes(s.cores[ofQuote], coresANode)
	s.servers = serverCopies * int(math.Ceil(s.cores[ofClickHouse]/serverCores))
	for s.partitions = 4; s.partitions < shares*s.projectors; s.partitions *= 2 {
	}
	s.kafkaMB = times * costs[ofKafka].rate / 1e6
	s.brokers = max(3, int(math.Ceil(s.kafkaMB*copies/brokerMB)))
	s.tokensAYear = times * costs[ofMemory].rate * 86_400 * 365
	s.memoryGiB = s.tokensAYear * costs[ofMemory].perMillion / 1e6 / 1024
	return s
}

// plan returns the table for 1, 10 and 100 times the load of mainnet.
func plan(costs map[string]cost) (string, error) {
	var b strings.Builder
	line := func(what string, of func(s size) string) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, times := range []float64{1, 10, 100} {
			fmt.Fprintf(&b, " %s |", of(sizeOf(costs, times)))
		}
		b.WriteString("\n")
	}
	b.WriteString("| | 1x | 10x | 100x |\n|---|---|---|---|\n")
	cores := func(names ...string) func(size) string {
		return func(s size) string { return strconv.FormatFloat(math.Ceil(s.of(names...)*10)/10, 'f', 1, 64) }
	}
	line("`ingest`: processors of the leader; the standby needs as many", cores(ofIngest))
	line("`projector`: processors together", cores(ofProjector))
	line("`projector`: processes", func(s size) string { return strconv.Itoa(s.projectors) })
	line("`kafka.partitions`", func(s size) string { return strconv.Itoa(s.partitions) })
	line("`api`: processors of each node for updates alone", cores(ofAPI))
	line("`api`: tokens after a year, in millions", func(s size) string { return strconv.FormatFloat(s.tokensAYear/1e6, 'f', 0, 64) })
	line("`api`: memory of each node for them, GiB", func(s size) string { return strconv.FormatFloat(math.Ceil(s.memoryGiB), 'f', 0, 64) })
	line("Kafka: MB a second, before copies", func(s size) string { return strconv.FormatFloat(s.kafkaMB, 'f', 1, 64) })
	line("Kafka: brokers", func(s size) string { return strconv.Itoa(s.brokers) })
	line("ClickHouse and `volume`: processors for each copy of the rows", cores(ofClickHouse))
	line("ClickHouse: servers of 8 processors, with two copies of each row", func(s size) string { return strconv.Itoa(s.servers) })
	line("`enrich`: processors together", cores(ofRead, ofDocument))
	line("`enrich`: processes", func(s size) string { return strconv.Itoa(s.enrichers) })
	line("`gateway`: processors of each node for the stream alone", cores(ofStream))
	line("`gateway`: processors together for clients", cores(ofDelivery, ofCall))
	line("`gateway`: nodes, each with two processors for clients", func(s size) string { return strconv.Itoa(s.gateways) })
	line("`swap`: processors together", cores(ofQuote))
	line("`swap`: nodes", func(s size) string { return strconv.Itoa(s.swaps) })
	return b.String(), nil
}
