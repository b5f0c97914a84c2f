package words

// russianCompare are the texts of intervals, comparisons and histories; russian holds them too.
var russianCompare = map[string]string{
	"%s of %s; Student's t at %s: mean ± t·s/√n": "%s %s; Стьюдент, %s: среднее ± t·s/√n",
	"COMPARED": "СРАВНЕНИЕ", "INTERVALS": "ИНТЕРВАЛЫ", "METRICS": "ПОКАЗАТЕЛИ", "OPERATIONS": "ОПЕРАЦИИ", "OTHER INTERVALS": "ДРУГИЕ ИНТЕРВАЛЫ",
	"REGRESSION": "УХУДШЕНИЕ", "SERIES": "РЯДЫ", "TO KNOW": "К СВЕДЕНИЮ", "acknowledged: %s": "принято: %s", "after": "после", "before": "до",
	"base": "база", "candidate": "кандидат", "change of the candidate": "изменение у кандидата",
	"change of the candidate; intervals at %s confidence":          "изменение у кандидата; интервалы с доверием %s",
	"changes show from about %d versions on: 3 before and 3 after": "изменения видны примерно с %d версий: 3 до и 3 после",
	"changes": "изменения", "effect": "эффект", "errors": "ошибки", "geometric mean": "среднее геом.", "improvement": "улучшение",
	"lag-1 autocorrelation": "автокорреляция", "metric": "показатель", "median": "медиана", "no changes": "изменений нет",
	"on logarithms, for few runs; of the median, for any distribution": "по логарифмам, для немногих прогонов; медианы, при любом распределении",
	"processed": "обработано", "response mean": "отклик, среднее", "runs for ±tolerance": "прогонов для ±допуска", "runs": "прогоны",
	"runs: so many on each side would settle it in four cases of five, if what was seen is so": "прогоны: столько с каждой стороны решат вопрос в четырёх случаях из пяти, если увиденное верно",
	"series": "ряд", "spread of runs": "разброс прогонов", "spread": "разброс", "state": "состояние", "tolerance": "допуск", "version": "версия", "versions": "версии",
	"versions that depend on those before them (autocorrelation above 0.5) make false alarms: measure from the same state each time": "версии, зависящие от предыдущих (автокорреляция выше 0,5), дают ложные тревоги: начинайте каждый раз из одного состояния",
	"where the level changed (E-divisive, p ≤ %s)": "где сменился уровень (E-divisive, p ≤ %s)", "worse, made good since": "хуже, но с тех пор исправлено",
	"regression": "ухудшение", "equivalent": "без изменений", "inconclusive": "не решено", "unknown": "неизвестно",
	"History": "История", "no fresh regression": "новых ухудшений нет", "single operations": "отдельные операции", "level": "уровень", "number of the version": "номер версии",
	"%s of %s since %s: %s → %s":                         "%s ряда %s с %s: %s → %s",
	"%d operations are left out; --output json has them": "%d операций опущено; они есть в --output json",
}
