// Package price computes the cost of a model's tokens. A model that is not in a table has
// no price, which never counts as a price of 0. The package is pure.
package price

import (
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/netguard/gateway/usage"
)

// Price is the price of a model's tokens, in US dollars per million.
type Price struct {
	Input          float64 `json:"input"`
	Output         float64 `json:"output"`
	CacheRead      float64 `json:"cache_read"`
	CacheWrite     float64 `json:"cache_write"`
	CacheWriteLong float64 `json:"cache_write_1h"`

	// A request that reads more than LongFrom tokens costs Long times as much for input,
	// caches included, and LongOutput times as much for output; if LongFrom is 0, none
	// does.
	LongFrom   int64   `json:"long_from,omitempty"`
	Long       float64 `json:"long,omitempty"`
	LongOutput float64 `json:"long_output,omitempty"`
}

// Cost returns the cost of an answer, in US dollars.
func (p Price) Cost(c usage.Counts) float64 {
	short := c.CacheWrite - c.CacheWriteLong
	input := float64(c.Input-c.CacheRead-c.CacheWrite)*p.Input + float64(c.CacheRead)*p.CacheRead +
		float64(short)*p.CacheWrite + float64(c.CacheWriteLong)*p.CacheWriteLong
	output := float64(c.Output) * p.Output
	if p.LongFrom > 0 && c.Input > p.LongFrom {
		input, output = input*p.Long, output*p.LongOutput
	}
	return (input + output) / 1e6
}

// Any is the provider of prices that apply to every provider.
const Any = "any"

// Table holds prices by provider and model.
type Table struct {
	Date   string // of the list prices; empty for a user's own
	prices map[string]map[string]Price
}

// New returns a table of prices by provider and model. It keeps a reference to prices.
func New(date string, prices map[string]map[string]Price) Table { return Table{date, prices} }

// dated matches the date after a model's name, and suffixes of agents and servers.
var dated = lazyregexp.New(`(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d)|-latest|\[1m\])$`)

// Find returns the price of a model with the first of providers that has one. A name
// without its date counts when the name itself has no price.
func (t Table) Find(model string, providers ...string) (Price, bool) {
	model = strings.TrimPrefix(model, "models/")
	for range 3 {
		for _, provider := range providers {
			if p, ok := t.prices[provider][model]; ok {
				return p, true
			}
		}
		shorter := dated.ReplaceAllString(model, "")
		if shorter == model {
			break
		}
		model = shorter
	}
	return Price{}, false
}
