package auth

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	h := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct{ in, want []string }{
		{[]string{"python", "train.py", "--lr", "3e-4"}, nil},
		{[]string{"python", "--token", "abc"}, []string{"python", "--token", Redacted}},
		{[]string{"--token", "-abc"}, []string{"--token", Redacted}},
		{[]string{"--auth", "--verbose"}, nil},
		{[]string{"--api-key=abc=def&x"}, []string{"--api-key=" + Redacted}},
		{[]string{"--apikey", "a b"}, []string{"--apikey", Redacted}},
		{[]string{"WANDB_API_KEY=x", "run"}, []string{"WANDB_API_KEY=" + Redacted, "run"}},
		{[]string{"DB_PASSWD=x", "MY_SECRET=y", "password=z", "AWS_SECRET_ACCESS_KEY=q", "GOOGLE_CREDENTIALS=w"},
			[]string{"DB_PASSWD=" + Redacted, "MY_SECRET=" + Redacted, "password=" + Redacted, "AWS_SECRET_ACCESS_KEY=" + Redacted, "GOOGLE_CREDENTIALS=" + Redacted}},
		{[]string{"--password=12345"}, []string{"--password=" + Redacted}},
		// What models are made of.
		{[]string{"--max-tokens", "2048", "--tokenizer", "gpt2", "--author=ann", "max_tokens=4k", "--eos-token", "</s>", "--pad_token_id=0", "--tokens_per_batch=1e6"}, nil},
		{[]string{"--tokens=hunter2"}, []string{"--tokens=" + Redacted}},
		// URLs.
		{[]string{"s3://bucket/a", "https://ann:pw@git.lab/x.git", "postgres://u:p%40q@db/x"},
			[]string{"s3://bucket/a", "https://" + Redacted + "@git.lab/x.git", "postgres://" + Redacted + "@db/x"}},
		{[]string{"https://x/y?sig=abc&v=1&token=def#z"}, []string{"https://x/y?sig=" + Redacted + "&v=1&token=" + Redacted}},
		{[]string{"curl", "-u", "ann:pw", "https://x"}, []string{"curl", "-u", "ann:" + Redacted, "https://x"}},
		// Scripts.
		{[]string{"bash", "-c", "export HF_TOKEN=abc; python x.py --secret 's p' --n 3"},
			[]string{"bash", "-c", "export HF_TOKEN=" + Redacted + "; python x.py --secret " + Redacted + " --n 3"}},
		{[]string{"curl -H 'Authorization: Bearer abc.def' x"}, []string{"curl -H 'Authorization: " + Redacted + "' x"}},
		{[]string{`{"lr": 1, "api_key": "a b", "n": 2}`}, []string{`{"lr": 1, "api_key": ` + Redacted + `, "n": 2}`}},
		{[]string{"x=token=abc"}, []string{"x=token=" + Redacted}},
		{[]string{"X-Auth: Basic YW5uOnB3"}, []string{"X-Auth: " + Redacted}},
		{[]string{"say", "bearer abcdefghijkl"}, []string{"say", "bearer " + Redacted}},
		// Shapes.
		{[]string{"AKIAIOSFODNN7EXAMPLE"}, []string{Redacted}},
		{[]string{"x,ghp_" + strings.Repeat("aB3", 12)}, []string{"x," + Redacted}},
		{[]string{"hf_" + strings.Repeat("aB", 17)}, []string{Redacted}},
		{[]string{strings.Repeat("a1b2", 10)}, []string{Redacted}}, // Weights & Biases: 40 hexadecimal digits
		{[]string{"sk-" + strings.Repeat("a", 20)}, []string{Redacted}},
		{[]string{"esc_" + h}, []string{Redacted}},
		{[]string{"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln"}, []string{Redacted}},
		{[]string{"7Xq2kPz9/LmT4vB8nRc+Yd3Wj6HsAa1GfUe5oKiQ"}, []string{Redacted}},
		{[]string{"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"}, []string{Redacted}},
		{[]string{h}, []string{Redacted}},
		// What is long, and no secret.
		{[]string{"/data/experiments/2026-03-01/llama-70b/checkpoint-000123/model.safetensors", "--output_dir=/mnt/Team/Ann/runs_2026/some-long-name-of-a-run"}, nil},
		{nil, nil},
	} {
		in := slices.Clone(c.in)
		want := c.want
		if want == nil {
			want = in
		}
		got := Redact(c.in)
		if !slices.Equal(got, want) {
			t.Errorf("Redact(%q)\n got %q\nwant %q", c.in, got, want)
		}
		if !slices.Equal(in, c.in) {
			t.Errorf("Redact changed its argument %q", in)
		}
		if again := Redact(got); !slices.Equal(again, got) {
			t.Errorf("twice: %q\n got %q", got, again)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"", "--token", "a=b", `"api_key": "`, "https://a@b@c/", "--x y", "Authorization: Bearer ", "\xff=\xff", "-----BEGIN PRIVATE KEY-----"} {
		f.Add(s, "hunter2")
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		if n := len(Redact([]string{s, value, s})); n != 3 {
			t.Fatalf("3 arguments became %d", n)
		}
		RedactText(s)
		const secret = "Zq9secretZq9"
		for _, argv := range [][]string{
			{s, "--password", secret},
			{s, "MY_TOKEN=" + value + secret},
			{s, "https://" + secret + "@host/"},
			{s, "ghp_" + strings.Repeat(secret, 3)},
		} {
			if strings.Contains(s, secret) || strings.HasPrefix(value, "--") {
				continue
			}
			if got := Redact(argv); slices.ContainsFunc(got, func(a string) bool { return strings.Contains(a, secret) }) {
				t.Fatalf("Redact(%q) = %q", argv, got)
			}
		}
	})
}

// Drawn texts are guessed at: nearly all must be found, and no path taken for one.
func TestRandomIsFound(t *testing.T) {
	missed := 0
	for range 500 {
		b := make([]byte, 30)
		_, _ = rand.Read(b)
		if s := base64.StdEncoding.EncodeToString(b); RedactText(s) == s {
			missed++
		}
	}
	if missed > 15 {
		t.Errorf("%d of 500 random texts of 40 characters were missed", missed)
	}
}
