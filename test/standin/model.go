package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// models ask the model once, where and with what key the agent would.
var models = map[string]func(arguments) (string, error){"aider": aider, "crush": crush, "cursor-agent": cursor, "amp": amp}

// cursor and amp ask the server that their arguments or variables name, if there is a proxy.
func cursor(given arguments) (string, error) {
	if endpoint := given.values["--endpoint"]; endpoint != nil {
		return greet(endpoint[0])
	}
	return "", nil
}

func amp(arguments) (string, error) { return greet(os.Getenv("AMP_URL")) }

func greet(server string) (string, error) {
	if server == "" || os.Getenv("HTTPS_PROXY") == "" {
		return "", nil
	}
	answer, err := http.Get(strings.TrimSuffix(server, "/") + "/hello") //nolint:gosec // a test's server
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.Status + ": " + strings.TrimSpace(string(text)), err
}

// aider goes by the provider before the model's name and that one's variables.
func aider(given arguments) (string, error) {
	provider, model, _ := strings.Cut(given.values["--model"][0], "/")
	variable, path := map[string]string{"openai": "OPENAI", "anthropic": "ANTHROPIC", "gemini": "GEMINI", "ollama_chat": "OLLAMA"}[provider], ""
	switch provider {
	case "openai":
		path = "/chat/completions"
	case "anthropic":
		path = "/v1/messages"
	case "gemini":
		path = ":generateContent"
	case "ollama_chat":
		path = "/api/chat"
	}
	return ask(os.Getenv(variable+"_API_BASE")+path, os.Getenv(variable+"_API_KEY"), model)
}

// crush goes by its configuration file.
func crush(arguments) (string, error) {
	var config struct {
		Models map[string]struct {
			Provider, Model string
		}
		Providers map[string]struct {
			Type    string
			BaseURL string `json:"base_url"`
			APIKey  string `json:"api_key"`
		}
	}
	data, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".config/crush/crush.json"))
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		return "", err
	}
	large := config.Models["large"]
	provider := config.Providers[large.Provider]
	path := map[string]string{"openai-compat": "/chat/completions", "anthropic": "/v1/messages"}[provider.Type]
	return ask(provider.BaseURL+path, os.ExpandEnv(provider.APIKey), large.Model)
}

// ask sends a message that every dialect understands, and returns the result.
func ask(url, key, model string) (string, error) {
	message := map[string]any{"role": "user", "content": "hello", "parts": []any{map[string]any{"text": "hello"}}}
	body, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": 100, "stream": false, "messages": []any{message}, "contents": []any{message},
	})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	return fmt.Sprintf("%s %s", url, answer.Status), nil
}
