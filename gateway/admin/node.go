package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/mintlake/mintlake/internal/httpjson"
)

// UpstreamAnswer is a JSON-RPC upstream as the gateway of this process sees it.
type UpstreamAnswer struct {
	// Name is the URL without secrets. Condition is well, behind, in_trouble, ahead or other_chain.
	Name      string `json:"name"`
	Condition string `json:"condition"`
	// Slots has the last slot that the upstream named at each commitment, if it named one.
	Slots map[string]float64 `json:"slots"`
	// LagSlots is how many slots the upstream is below the highest slot of all upstreams, at
	// commitment processed. ErrorRatio is the part of the last minute's attempts that failed, 0 to
	// 1.
	LagSlots   *float64 `json:"lag_slots,omitempty"`
	ErrorRatio float64  `json:"error_ratio"`
	// Seconds has the time until an answer begins, over the last minute, at the quantiles 0.5, 0.95
	// and 0.99.
	Seconds map[string]float64 `json:"seconds"`
}

// StreamClient is a client of the transaction stream.
type StreamClient struct {
	// Key is the name of its API key. Form is grpc or websocket.
	Key   string    `json:"key"`
	Form  string    `json:"form"`
	Since time.Time `json:"since"`
	// Waiting is how many deliveries wait for the client. Buffer is how many may wait. LagSlots is
	// how far the oldest waiting delivery is below the highest slot seen, in slots.
	Waiting  int    `json:"waiting"`
	Buffer   int    `json:"buffer"`
	LagSlots uint64 `json:"lag_slots"`
	// Filters and Addresses count the client's filters and the addresses in them.
	Filters   int `json:"filters"`
	Addresses int `json:"addresses"`
}

// StreamAnswer describes the transaction stream of this process.
type StreamAnswer struct {
	// Slot is the highest slot seen. Clients is the number of all clients. List has the clients
	// with the most waiting deliveries.
	Slot    uint64         `json:"slot"`
	Clients int            `json:"clients"`
	List    []StreamClient `json:"list"`
}

// NodeAnswer is the body of GET /v1/node: what this process knows. Figures of rooms that it does
// not run are absent.
type NodeAnswer struct {
	Upstreams []UpstreamAnswer   `json:"upstreams"`
	Streams   *StreamAnswer      `json:"streams,omitempty"`
	Figures   map[string]float64 `json:"figures"`
}

// maxStreamClients bounds StreamAnswer.List.
const maxStreamClients = 500

// figures maps metrics to their names in NodeAnswer.Figures. Each of these metrics has one series.
var figures = map[string]string{
	"mintlake_ingest_slot":                "ingest_slot",
	"mintlake_api_coverage_gaps":          "coverage_gaps",
	"mintlake_enrich_queue_age_seconds":   "enrichment_queue_age_seconds",
	"mintlake_gateway_rpc_upstreams_well": "upstreams_well",
}

// node serves GET /v1/node.
func (s *Server) node(w http.ResponseWriter, _ *http.Request) error {
	answer := NodeAnswer{Upstreams: []UpstreamAnswer{}, Figures: map[string]float64{}}
	if s.deps.Streams != nil {
		answer.Streams = s.deps.Streams()
	}
	if streams := answer.Streams; streams != nil {
		slices.SortStableFunc(streams.List, func(a, b StreamClient) int { return b.Waiting - a.Waiting })
		streams.List = streams.List[:min(len(streams.List), maxStreamClients)]
	}
	if s.deps.Gatherer != nil {
		families, err := s.deps.Gatherer.Gather()
		if err != nil {
			s.deps.Logger.Warn("metrics cannot be gathered whole", "err", err)
		}
		answer.Upstreams = upstreamsOf(families)
		figuresOf(families, answer.Figures)
	}
	httpjson.Write(w, http.StatusOK, answer)
	return nil
}

func labelOf(m *dto.Metric, name string) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == name {
			return label.GetValue()
		}
	}
	return ""
}

// figuresOf copies figures of the rooms from their metrics into the map.
func figuresOf(families []*dto.MetricFamily, into map[string]float64) {
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch name := family.GetName(); name {
			case "mintlake_api_pipeline_lag_records":
				reader, value := labelOf(m, "reader"), m.GetGauge().GetValue()
				if value < 0 { // the lag is unknown
					continue
				}
				if reader == "any" { // counts each record once that some reader has not processed
					into["pipeline_lag_records"] = value
				}
				if strings.HasPrefix(reader, "enrich") {
					into["enrichment_queue_records"] = value
				}
			default:
				if figure, wanted := figures[name]; wanted {
					into[figure] = m.GetGauge().GetValue()
				}
			}
		}
	}
}

// upstreamsOf reads the state of each upstream from the gateway's metrics.
func upstreamsOf(families []*dto.MetricFamily) []UpstreamAnswer {
	found := map[string]*UpstreamAnswer{}
	for _, family := range families {
		kind, matches := strings.CutPrefix(family.GetName(), "mintlake_gateway_rpc_upstream_")
		if !matches {
			continue
		}
		for _, m := range family.GetMetric() {
			name, value := labelOf(m, "upstream"), m.GetGauge().GetValue()
			u := found[name]
			if u == nil {
				u = &UpstreamAnswer{Name: name, Slots: map[string]float64{}, Seconds: map[string]float64{}}
				found[name] = u
			}
			switch kind {
			case "slot":
				u.Slots[labelOf(m, "commitment")] = value
			case "lag_slots":
				u.LagSlots = &value
			case "error_ratio":
				u.ErrorRatio = value
			case "recent_seconds":
				u.Seconds[labelOf(m, "quantile")] = value
			case "condition":
				if value == 1 {
					u.Condition = labelOf(m, "condition")
				}
			}
		}
	}
	all := make([]UpstreamAnswer, 0, len(found))
	for _, u := range found {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b UpstreamAnswer) int { return strings.Compare(a.Name, b.Name) })
	return all
}
