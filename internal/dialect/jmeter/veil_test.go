package jmeter

import (
	"strings"
	"testing"
)

// TestSecretsOfPlansAreVeiled: no password of a test plan is in the plan that a record keeps.
func TestSecretsOfPlansAreVeiled(t *testing.T) {
	const text = `<stringProp name="Authorization.password">T0p&amp;1</stringProp>
		<stringProp name="password">T0p2</stringProp><stringProp name="HTTPSampler.proxyPass">T0p3</stringProp>
		<elementProp name="Authorization" elementType="Header">
		<stringProp name="Header.name">Authorization</stringProp>
		<stringProp name="Header.value">Bearer T0p4</stringProp></elementProp>
		<elementProp name="password" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">true</boolProp>
		<stringProp name="Argument.value">T0p5</stringProp><stringProp name="Argument.name">password</stringProp></elementProp>
		<elementProp name="SESSION" elementType="Cookie"><stringProp name="Cookie.value">T0p6</stringProp></elementProp>
		<elementProp name="user" elementType="HTTPArgument"><stringProp name="Argument.value">bob</stringProp>
		<stringProp name="Argument.name">user</stringProp></elementProp>
		<stringProp name="password">${password}</stringProp>
		<stringProp name="HTTPSampler.path">/a?x=1&amp;token=T0p7&amp;y=${y}</stringProp>
		<stringProp name="Argument.value">{&quot;password&quot;: &quot;T0p8&quot;,
			&quot;page&quot;: 1}</stringProp><stringProp name="dbUrl">jdbc:mysql://h/d?user=u&amp;password=T0p9</stringProp>`
	out, properties := veil(text)
	if strings.Contains(out, "T0p") || len(properties) != 9 || properties["brunt.password1"] != "T0p&1" {
		t.Errorf("properties %q of\n%s", properties, out)
	}
	if !strings.Contains(out, ">bob<") || !strings.Contains(out, "${password}") ||
		strings.Count(out, "\n") != strings.Count(text, "\n") {
		t.Errorf("what is no secret has changed:\n%s", out)
	}
}

// Errors of URLs say what is wrong with them, and nothing of a password.
func TestErrorsOfURLsShowNoPassword(t *testing.T) {
	for _, text := range []string{"http://me:tops\"ecret@h/", "http://me:topsecret@h/a|b", "http://me:tops/ecret@h/",
		"http://me:topsecret@h:x/", "ftp://me:topsecret@h/", "http://me:topsecret@h/%zz"} {
		_, err := parseURL(text)
		if err == nil || strings.Contains(err.Error(), "tops") || strings.Contains(err.Error(), "ecret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
