package jmeter

import "strings"

// class says what an element is for.
type class uint8

const (
	isOther class = iota
	isController
	isSampler
	isConfig
	isTimer
	isBefore
	isAfter
	isAssertion
	isListener
)

// controllers are the controllers that are translated.
var controllers = map[string]controllerKind{
	"GenericController": simpleController, "LoopController": loopController, "WhileController": whileController,
	"IfController": ifController, "ForeachController": foreachController, "SwitchController": switchController,
	"OnceOnlyController": onceController, "InterleaveControl": interleaveController, "RandomController": randomController,
	"RandomOrderController": randomOrderController, "ThroughputController": throughputController,
	"TransactionController": transactionController, "RunTime": runtimeController,
	"CriticalSectionController": criticalController, "TestFragmentController": simpleController,
	"ModuleController": simpleController, "IncludeController": simpleController, "RecordingController": simpleController,
}

// classes are the other elements that are translated.
var classes = map[string]class{
	"HTTPSamplerProxy": isSampler, "HTTPSampler": isSampler, "HTTPSampler2": isSampler, "JDBCSampler": isSampler,
	"DebugSampler": isSampler, "TestAction": isSampler, "JSR223Sampler": isSampler,

	"ConfigTestElement": isConfig, "HeaderManager": isConfig, "CookieManager": isConfig, "CacheManager": isConfig,
	"AuthManager": isConfig, "DNSCacheManager": isConfig,
	"CSVDataSet": isConfig, "CounterConfig": isConfig, "RandomVariableConfig": isConfig,
	"Arguments": isConfig, "JDBCDataSource": isConfig,

	"ConstantTimer": isTimer, "UniformRandomTimer": isTimer, "GaussianRandomTimer": isTimer,
	"PoissonRandomTimer":      isTimer,
	"ConstantThroughputTimer": isTimer, "PreciseThroughputTimer": isTimer, "SyncTimer": isTimer, "JSR223Timer": isTimer,

	"UserParameters": isBefore, "JSR223PreProcessor": isBefore, "SampleTimeout": isBefore,

	"RegexExtractor": isAfter, "JSONPostProcessor": isAfter, "JMESPathExtractor": isAfter, "XPathExtractor": isAfter,
	"XPath2Extractor": isAfter, "BoundaryExtractor": isAfter, "HtmlExtractor": isAfter, "JSR223PostProcessor": isAfter,
	"DebugPostProcessor": isAfter, "ResultAction": isAfter,

	"ResponseAssertion": isAssertion, "DurationAssertion": isAssertion, "SizeAssertion": isAssertion,
	"JSONPathAssertion": isAssertion, "JMESPathAssertion": isAssertion, "XPathAssertion": isAssertion,
	"XPath2Assertion": isAssertion,
	"XMLAssertion":    isAssertion, "MD5HexAssertion": isAssertion, "JSR223Assertion": isAssertion,

	"ResultCollector": isListener, "BackendListener": isListener, "Summariser": isListener, "JSR223Listener": isListener,
	"ResultSaver": isListener, "MailerResultCollector": isListener,
}

// reasons say why well-known elements can't be run.
var reasons = map[string]string{
	"BeanShellSampler":         "runs BeanShell, which isn't translated; write it in Groovy",
	"BeanShellPreProcessor":    "runs BeanShell, which isn't translated; write it in Groovy",
	"BeanShellPostProcessor":   "runs BeanShell, which isn't translated; write it in Groovy",
	"BeanShellAssertion":       "runs BeanShell, which isn't translated; write it in Groovy",
	"BeanShellTimer":           "runs BeanShell, which isn't translated; write it in Groovy",
	"BeanShellListener":        "runs BeanShell, which isn't translated; write it in Groovy",
	"BSFSampler":               "runs BSF, which isn't translated; write it in Groovy",
	"BSFPreProcessor":          "runs BSF, which isn't translated; write it in Groovy",
	"BSFPostProcessor":         "runs BSF, which isn't translated; write it in Groovy",
	"BSFAssertion":             "runs BSF, which isn't translated; write it in Groovy",
	"JavaSampler":              "runs a Java class; brunt runs no Java",
	"JUnitSampler":             "runs a Java class; brunt runs no Java",
	"SystemSampler":            "starts a program; loads start none",
	"FTPSampler":               "FTP isn't a protocol of brunt",
	"TCPSampler":               "bare TCP isn't a protocol of brunt",
	"JMSSampler":               "JMS isn't a protocol of brunt",
	"PublisherSampler":         "JMS isn't a protocol of brunt",
	"SubscriberSampler":        "JMS isn't a protocol of brunt",
	"LDAPSampler":              "LDAP isn't a protocol of brunt",
	"LDAPExtSampler":           "LDAP isn't a protocol of brunt",
	"SmtpSampler":              "SMTP isn't a protocol of brunt",
	"MailReaderSampler":        "mail isn't a protocol of brunt",
	"AccessLogSampler":         "access logs aren't read",
	"AjpSampler":               "AJP isn't a protocol of brunt",
	"BoltSampler":              "Bolt isn't a protocol of brunt",
	"MongoScriptSampler":       "its scripts aren't translated; write a plan for mongodb",
	"OpenModelThreadGroup":     "this kind of thread group isn't translated; use a Thread Group",
	"KeystoreConfig":           "key stores of Java aren't read",
	"URLRewritingModifier":     "isn't translated; use a Regular Expression Extractor",
	"AnchorModifier":           "isn't translated; use a CSS Selector Extractor",
	"RegExUserParameters":      "isn't translated; use a ForEach Controller",
	"HTMLAssertion":            "isn't translated",
	"XMLSchemaAssertion":       "isn't translated",
	"CompareAssertion":         "isn't translated",
	"SMIMEAssertion":           "isn't translated",
	"SwitchController":         "",
	"JDBCPreProcessor":         "isn't translated; use a JDBC Request",
	"JDBCPostProcessor":        "isn't translated; use a JDBC Request",
	"WeightedSwitchController": "is of a plugin, which isn't known",
}

// windows are elements of JMeter's window that don't run.
var windows = map[string]bool{"ProxyControl": true, "WorkBench": true, "MirrorServer": true, "PropertyControlGui": true}

// classify says what an enabled element is for, and reports those that can't be run.
func (c *compiler) classify(e *Element) class {
	if _, ok := controllers[e.Class]; ok {
		return isController
	}
	if k, ok := classes[e.Class]; ok {
		return k
	}
	switch {
	case windows[e.Class]:
		return isOther
	case strings.HasSuffix(e.Class, "ResultCollector") || strings.Contains(e.Class, "vizualizers") ||
		strings.HasSuffix(e.Class, "Visualizer"):
		c.note("%s: its window shows nothing here", e)
		return isListener
	}
	if why := reasons[e.Class]; why != "" {
		c.fault(e, "%s", why)
	} else if strings.Contains(e.Class, ".") {
		c.fault(e, "it is of a plugin, which isn't known: disable it, or replace it by an element of JMeter's own")
	} else {
		c.fault(e, "this kind of element isn't known")
	}
	return isOther
}
