package config

import (
	"bytes"
	_ "embed" // for the list prices
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aibox/internal/fault"
)

// PricesName is the name of the user's file of prices, beside UserName.
const PricesName = "prices.toml"

// Prices is a file of the prices of models.
type Prices struct {
	Date   string                           // the date of the prices; empty if the file has none
	Models map[string]map[string]ModelPrice // by provider and model
}

// ModelPrice is what a model's tokens cost, in US dollars per million; see package price.
type ModelPrice struct {
	Input, Output, CacheRead, CacheWrite, CacheWriteLong float64

	LongFrom         int64
	Long, LongOutput float64
}

//go:embed prices.toml
var listPrices []byte

// ListPrices returns the built-in table of list prices.
func ListPrices() (Prices, error) { return ParsePrices("prices.toml", listPrices) }

// priceEntry is a price in a file; unset fields are nil.
type priceEntry struct {
	Input          *float64 `toml:"input"`
	Output         *float64 `toml:"output"`
	CacheRead      *float64 `toml:"cache-read"`
	CacheWrite     *float64 `toml:"cache-write"`
	CacheWriteLong *float64 `toml:"cache-write-1h"`
	LongFrom       int64    `toml:"long-from"`
	Long           *float64 `toml:"long"`
	LongOutput     *float64 `toml:"long-output"`
}

// ParsePrices reads a table in TOML:
//
//	date = "2026-10"
//	[openai."gpt-5"]
//	input = 1.25
//	output = 10
//	cache-read = 0.125
//
// Input and output are required. The tokens of caches cost as much as others unless the
// file says otherwise. The name is for errors, which are Usage faults.
func ParsePrices(name string, data []byte) (Prices, error) {
	var file map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		var malformed *toml.DecodeError
		if errors.As(err, &malformed) {
			line, column := malformed.Position()
			return Prices{}, fault.New(fault.Usage, "%s:%d:%d: %s", name, line, column, strings.TrimPrefix(malformed.Error(), "toml: "))
		}
		return Prices{}, fault.New(fault.Usage, "%s: %w", name, err)
	}
	t := Prices{Models: map[string]map[string]ModelPrice{}}
	for provider, value := range file {
		if date, ok := value.(string); ok && provider == "date" {
			t.Date = date
			continue
		}
		models, ok := value.(map[string]any)
		if !ok {
			return Prices{}, fault.New(fault.Usage, "%s: %q is not a table of models", name, provider).Hint(`write [%s."MODEL"], and its prices below`, provider)
		}
		t.Models[provider] = map[string]ModelPrice{}
		for model, fields := range models {
			p, err := parsePrice(fields)
			if err != nil {
				return Prices{}, fault.New(fault.Usage, "%s: the price of %s in [%s] %w", name, model, provider, err).
					Hint("[%s.%q] has input and output, in US dollars per million tokens, and perhaps cache-read, cache-write, cache-write-1h", provider, model)
			}
			t.Models[provider][model] = p
		}
	}
	return t, nil
}

func parsePrice(fields any) (ModelPrice, error) {
	if _, ok := fields.(map[string]any); !ok {
		return ModelPrice{}, errors.New("is not a table")
	}
	text, err := toml.Marshal(fields)
	if err != nil {
		return ModelPrice{}, err
	}
	var e priceEntry
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&e); err != nil {
		return ModelPrice{}, errors.New("has a key that is not known, or is not a number")
	}
	if e.Input == nil || e.Output == nil {
		return ModelPrice{}, errors.New("lacks input or output")
	}
	or := func(value *float64, other float64) float64 {
		if value != nil {
			return *value
		}
		return other
	}
	p := ModelPrice{Input: *e.Input, Output: *e.Output, LongFrom: e.LongFrom, Long: or(e.Long, 1), LongOutput: or(e.LongOutput, 1)}
	p.CacheRead, p.CacheWrite = or(e.CacheRead, p.Input), or(e.CacheWrite, p.Input)
	p.CacheWriteLong = or(e.CacheWriteLong, p.CacheWrite)
	for _, n := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteLong, p.Long, p.LongOutput} {
		if !(n >= 0) || n > 1e6 {
			return ModelPrice{}, errors.New("is negative or no number")
		}
	}
	if e.LongFrom < 0 {
		return ModelPrice{}, errors.New("is negative or no number")
	}
	return p, nil
}
