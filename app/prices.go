package app

import (
	"errors"
	"io/fs"
	"path/filepath"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard/gateway/price"
)

// maxPrices bounds the file, in bytes.
const maxPrices = 1 << 20

// prices are the user's own prices and the list prices.
type prices struct{ own, list price.Table }

// loadPrices reads both.
func loadPrices() (prices, error) {
	builtIn, err := config.ListPrices()
	if err != nil {
		return prices{}, err
	}
	list := priceTable(builtIn)
	dirs, err := paths.Default()
	if err != nil {
		return prices{}, err
	}
	file := filepath.Join(dirs.Config, config.PricesName)
	data, err := paths.ReadSmall(file, maxPrices)
	if errors.Is(err, fs.ErrNotExist) {
		return prices{list: list}, nil
	}
	if err != nil {
		return prices{}, fault.New(fault.Usage, "%s cannot be read: %w", file, err)
	}
	own, err := config.ParsePrices(file, data)
	return prices{priceTable(own), list}, err
}

func priceTable(file config.Prices) price.Table {
	table := map[string]map[string]price.Price{}
	for provider, models := range file.Models {
		table[provider] = map[string]price.Price{}
		for model, p := range models {
			table[provider][model] = price.Price(p)
		}
	}
	return price.New(file.Date, table)
}
