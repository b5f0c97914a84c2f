package texts

// russianSeries are the texts of series and campaigns.
var russianSeries = map[string]string{
	// Searches.
	"MAXIMUM": "МАКСИМУМ", "TRIALS": "ИСПЫТАНИЯ", "LOAD CURVE": "КРИВАЯ НАГРУЗКИ", "sustains": "выдерживает",
	"doesn't sustain": "не выдерживает", "not offered": "не предложено",
	"bracket": "вилка", "search": "поиск", "profile": "профиль", "knee": "перегиб", "scalability": "масштабируемость",
	"a trial passes if": "испытание пройдено, если",
	"Of %d proposed indexes %d proved to pay and stay": "Предложено индексов: %d, доказали пользу и оставлены: %d",
	"with it against without it, at equal load":        "с индексом против того, что без него, при равной нагрузке",
	"server's time for its statements":                 "время сервера на его запросы",
	"kept":                                             "оставлен", "dropped": "удалён",
	", and %d above it": " и выше неё: %d", ", and %d below it": " и ниже неё: %d",
	"N %s, passed %d of %d trials":          "N %s, пройдено испытаний: %d из %d",
	"N %s, failed %d of %d trials":          "N %s, не пройдено испытаний: %d из %d",
	"N %s: the generator couldn't":          "N %s: генератор не смог",
	"N %s; what more it can do isn't known": "N %s; что сверх этого, неизвестно", "N %s": "N %s", "N = 1": "N = 1",
	"between them; wanted: %s":                           "между ними; требовалось: %s",
	"N %s: most operations for the time that each takes": "N %s: больше всего операций на время каждой",
	"peak of %s/s": "вершина %s/с", "no peak in reach": "вершина не видна",
	"contention %s, coherency %s, R² %s":                  "очередь %s, согласование %s, R² %s",
	"at %s in flight; contention %s, coherency %s, R² %s": "при %s в пути; очередь %s, согласование %s, R² %s",
	"asked": "задано", "by the least of these trials": "наименьшее из этих испытаний",
	"asked: N times the profile; offered: what fell due, which random arrivals make more or less; achieved: of it, answered well in time": "задано: профиль, умноженный на N; предложено: сколько запросов настало, случайный поток делает их больше или меньше; сделано: из них отвечено вовремя и верно",
	"purpose": "цель", "why": "почему",
	"too few sessions: tried again with more":                 "мало сеансов: повторено с большим числом",
	"the target lets no more connect: tried again with those": "больше соединений сервер не принимает: повторено с принятыми",
	"found": "найден", "passes at the highest load allowed": "пройдена высшая разрешённая нагрузка",
	"fails at the lowest load allowed": "не пройдена низшая разрешённая нагрузка",
	"limited by the generator":         "ограничен генератором", "out of trials": "испытания исчерпаны",
	"stopped":   "остановлен",
	"base line": "базовая", "rise": "подъём", "fall": "спуск", "bisect": "деление", "estimate": "оценка",
	"beside": "рядом с оценкой", "margin": "запас", "confirm": "подтверждение", "refute": "опровержение",
	// Settings.
	"SETTINGS": "НАСТРОЙКИ",
	"each measured %d times at N %s, in shuffled order": "каждая измерена %d раз при N %s, в случайном порядке",
	"best": "лучшая", "best, and advised": "лучшая, её и советуем",
	"advised: the smallest within %s of the best": "советуем: наименьшая в пределах %s от лучшей",
	"advised: the smallest":                       "советуем: наименьшая", "not known": "неизвестна",
	"fails in %d of %d runs": "не пройдено в %d из %d прогонов",
	"runs that the generator spoiled each time they were tried, and that count all the same: %d": "прогонов, которые генератор испортил при каждой попытке и которые всё же учтены: %d",
	"not to be told from the best": "не отличить от лучшей",
	// Timetables.
	"TIMETABLE": "РАСПИСАНИЕ", "does": "что делает", "lasts": "длится", "begins": "начало", "disk": "диск",
	"took": "заняло", "result": "результат",
	"CAMPAIGN": "КАМПАНИЯ", "the maximum": "максимум", "%s of the profile": "%s профиля",
	"prepare the data": "подготовить данные",
	"find the maximum by at most %d trials of %s":  "найти максимум не более чем за %d испытаний по %s",
	"rise to %s, hold it for %s":                   "плавно поднять нагрузку (до: %s) и удерживать %s",
	"hold %s for %s, watch memory and connections": "удерживать нагрузку (%s) в течение %s, следить за памятью и соединениями", "look into the database at %s": "проанализировать базу данных (нагрузка: %s)",
	"apply the fix": "применить исправление", "count connections at %s": "посчитать соединения (нагрузка: %s)",
	"compare %d settings at %s, each measured %d times": "сравнить настройки (%d; нагрузка: %s), каждую измерить %d раз",
	"write the document": "написать отчёт",
	"ends about %s, without what commands take; bundles take about %s":             "окончание около %s, не считая команд; записи займут около %s",
	"a rehearsal: all durations are shortened to %s of what the campaign asks for": "репетиция: все длительности сокращены до %s от заданных",
	// Documents.
	"Load test of %s": "Отчёт по нагрузочному тестированию: %s", "Contents": "Оглавление",
	"Goals and load profile": "Цели, задачи и профиль нагрузки", "GOALS": "ЦЕЛИ И ЗАДАЧИ",
	"LOAD PROFILE": "ПРОФИЛЬ НАГРУЗКИ",
	"Results":      "Результаты тестирования", "Maximum": "Максимальная производительность",
	"%s, before the fixes": "%s (до оптимизации)", "%s, after the fixes": "%s (после оптимизации)",
	"MAXIMUM BY OPERATION": "МАКСИМУМ ПО ОПЕРАЦИЯМ", "What the fixes brought": "Что дала оптимизация",
	"The maximum rose from %s/s to %s/s, %s times.": "Максимум вырос с %s/с до %s/с, в %s раза.",
	"Statements of the database":                    "Запросы к базе данных", "RESPONSE TIMES": "ВРЕМЯ ОТКЛИКА",
	"times": "раз", "%s before": "%s до", "%s after": "%s после",
	"the server's own times": "время по счёту самого сервера",
	"Compared at equal load, N = %s (%s/s): step %d before the fixes, step %d after them.": "Сравнение при равной нагрузке, N = %s (%s/с): шаг %d до исправлений, шаг %d после них.",
	"look into the database at the load of step %d":                                        "проанализировать базу данных (нагрузка: как на шаге %d)",
	"calls before": "вызовы до", "mean before": "среднее до", "calls after": "вызовы после", "mean after": "среднее после",
	"faster": "быстрее",
	"Tests":  "Проведённые тесты", "began %s, took %s; folder %s": "начат %s, занял %s; папка %s",
	"Throughput by load": "Производительность от нагрузки", "Response time by load": "Время отклика от нагрузки",
	"Cores of what was watched, by load": "Ядра наблюдаемых процессов от нагрузки",
	"FIGURES":                            "ПОКАЗАТЕЛИ", "bundle": "запись", "severity": "важность", "about": "о чём",
	"evidence": "свидетельство",
	"advice":   "совет",
	"total":    "всего", "most": "наибольшее", "active": "активны",
	"what active sessions waited for": "чего ждали активные сеансы", "PLAN": "ПЛАН", "expected rows": "ожидалось строк",
	"saves": "экономит", "gain": "выигрывают", "pay": "платят", "WHAT GAINS": "ЧТО ВЫИГРЫВАЕТ",
	"planner's costs of one call":          "оценка планировщика за один вызов",
	"Settings compared: overview":          "Сравнение настроек: обзор",
	"These settings don't carry the load.": "Эти настройки не выдерживают нагрузку.", "The best.": "Лучшие настройки.",
	"Not to be told from the best.":            "От лучших не отличить.",
	"Differs from the best: %s of its figure.": "Отличается от лучших: %s их показателя.",
	"Tools": "Инструменты тестирования", "TOOLS": "ИНСТРУМЕНТЫ", "tool": "инструмент", "for": "для чего",
	"load, search, measurement, this document": "нагрузка, поиск, измерение, этот отчёт",
	"what was tested, over %s":                 "испытуемый, по %s", "the database behind it": "база данных за ним",
	"Test stand": "Тестовый стенд", "MACHINE": "МАШИНА", "that generated the load": "с которой шла нагрузка",
	"host": "узел", "go": "go", "TARGETS": "ЦЕЛИ", "product": "продукт", "SETTINGS OF THE SERVICE": "НАСТРОЙКИ СЕРВИСА",
	"SETTINGS OF THE DATABASE": "НАСТРОЙКИ БАЗЫ ДАННЫХ",
	"setting":                  "настройка", "value": "значение", "default": "по умолчанию",
	"The service and the load generator ran on one machine, so they shared its cores.": "Тестируемый сервис и генератор нагрузки работали на одной машине и делили её ядра.",
	"These figures are no results: %s.":                                                "Эти цифры не результат: %s.",
	// Sentences of steps.
	"Preparation": "Подготовка", "Maximum performance": "Максимальная производительность",
	"Confirmation of the maximum": "Подтверждение максимальной производительности", "Reliability": "Тест надёжности",
	"Analysis of the database": "Анализ производительности БД", "Optimisation": "Оптимизация",
	"Connections to the database": "Количество соединений с БД", "Settings compared": "Сравнение настроек",
	"Document":       "Отчёт",
	"%s wasn't: %s.": "Нагрузка %s не выдержана: %s.",
	"s":              "с",
	"No load was found that the service sustains: %s.": "Нагрузка, которую сервис выдерживает, не найдена: %s.",
	"At %s: %s.":                  "При %s: %s.",
	"No settings carry the load.": "Ни одни настройки не выдерживают нагрузку.",
	"Best: %s; as good to within %s, and the smallest: %s.": "Лучшие: %s; не хуже в пределах %s и наименьшие: %s.",
	"Best, and none smaller is as good: %s.":                "Лучшие, и меньших не хуже их нет: %s.",
	"The campaign isn't over: %s.":                          "Кампания не завершена: %s.",
	"Not carried out: %s.":                                  "Не выполнены: %s.",

	"Summary": "Главное", "what limits it": "что ограничивает", "changed and proven": "что изменено и доказано",
	"what to do next": "что делать дальше", "not finished": "не завершено",
	"It was not held for longer.": "Дольше она не удерживалась.",

	"Find out why the load wasn't held: %s": "Выяснить, почему нагрузка не выдержана: %s",

	"The maximum fell from %s/s to %s/s, by %s.": "Максимум упал с %s/с до %s/с, на %s.",

	"The maximum is the same within what is known of it: %s/s before, %s/s after.": "Максимум в пределах известного тот же: %s/с до, %s/с после.",

	// What steps came to.

	"No settings keep the thresholds in all of their runs.": "Ни одни настройки не выполняют условия во всех прогонах.",

	"The settings can't be told apart. The smallest that pass: %s.": "Настройки не отличить друг от друга. Наименьшие из прошедших: %s.",

	"In trials of %s the service sustains %s and doesn't sustain %s: %s.": "В испытаниях по %s сервис выдерживает %s и не выдерживает %s: %s.",

	"The service sustains %s and doesn't sustain %s: %s.": "Сервис выдерживает %s и не выдерживает %s: %s.",

	"%s was held for %s: p95 %s, %s of %s failed.": "Нагрузка %s выдержана в течение %s: p95 %s, неудач %s (всего: %s).",

	"%s wasn't held for %s: %s.": "Нагрузка %s не выдержана в течение %s: %s.",

	"No load was held for %s, from %s down to %s: %s.": "Ни одна нагрузка не выдержана в течение %s, от %s до %s: %s.",

	"At %s the service had at most %d of the %d connections that the database allows, of which %s worked at a time.": "При %s сервис держал не более %d из %d соединений, которые допускает база данных; одновременно работало в среднем %s.",

	"At %s the service had at most %d connections to the database, of which %s worked at a time.": "При %s сервис держал не более %d соединений с базой данных; одновременно работало в среднем %s.",

	"At %s the database shows %s, the gravest about %s: %s.": "При %s о базе данных есть %s, самое важное о %s: %s.",

	"At %s the database shows no findings.": "При %s замечаний к базе данных нет.",

	"The load itself: %s.": "Сама нагрузка: %s.",

	"The service sustains %s; its maximum isn't known: %s.": "Сервис выдерживает %s; его максимум неизвестен: %s.",

	"At %s no degradation was seen: p95 %s, %s failed.": "При %s деградации не наблюдалось: p95 %s, неудач %s.",

	"Done.": "Сделано.",
}

// russianTrials are why trials failed, and what they must meet.
var russianTrials = map[string]string{
	"%s of the %s/s offered were answered well in time, %s must be": "вовремя и верно отвечено на %s из предложенных %s/с, нужно %s",

	"%s requests fell due of the %s/s asked for: the generator stood still": "наступил срок %s запросов при заданных %s/с: генератор стоял",

	"a rehearsal: all durations are shortened to %s of what the campaign asks for": "репетиция: все длительности сокращены до %s от заданных",
}

// russianCompare are the texts of intervals, comparisons and histories; russian holds them too.
var russianCompare = map[string]string{
	"%s of %s at %s: geometric mean, by Student's t on logarithms; of shares the mean":                    "%s %s, доверие %s: среднее геометрическое, Стьюдент по логарифмам; у долей среднее",
	"mean ± t·s/√n by Student's t, which holds less often of skewed figures; median, of any distribution": "среднее ± t·s/√n по Стьюденту, при скошенных данных верно реже; медиана, при любом распределении",
	"typical":  "типично",
	"COMPARED": "СРАВНЕНИЕ", "INTERVALS": "ИНТЕРВАЛЫ", "METRICS": "ПОКАЗАТЕЛИ", "OPERATIONS": "ОПЕРАЦИИ",
	"OTHER INTERVALS": "ДРУГИЕ ИНТЕРВАЛЫ",
	"REGRESSION":      "УХУДШЕНИЕ", "SERIES": "РЯДЫ", "TO KNOW": "К СВЕДЕНИЮ", "acknowledged: %s": "принято: %s",
	"after": "после", "before": "до",
	"base": "база", "candidate": "кандидат", "change of the candidate": "изменение у кандидата",
	"change of the candidate; intervals at %s confidence":          "изменение у кандидата; интервалы с доверием %s",
	"changes show from about %d versions on: 3 before and 3 after": "изменения видны примерно с %d версий: 3 до и 3 после",
	"changes": "изменения", "effect": "эффект", "errors": "ошибки", "improvement": "улучшение",
	"lag-1 autocorrelation": "автокорреляция", "metric": "показатель", "median": "медиана", "no changes": "изменений нет",
	"processed": "обработано", "response mean": "отклик, среднее", "runs for ±tolerance": "прогонов для ±допуска",
	"runs": "прогоны",
	"runs: so many on each side would settle it in four cases of five, if what was seen is so": "прогоны: столько с каждой стороны решат вопрос в четырёх случаях из пяти, если увиденное верно",
	"series": "ряд", "spread of runs": "разброс прогонов", "spread": "разброс", "state": "состояние",
	"tolerance": "допуск", "version": "версия", "versions": "версии",
	"versions that depend on those before them (autocorrelation above 0.5) make false alarms: measure from the same state each time": "версии, зависящие от предыдущих (автокорреляция выше 0,5), дают ложные тревоги: начинайте каждый раз из одного состояния",
	"where the level changed (E-divisive, p ≤ %s)": "где сменился уровень (E-divisive, p ≤ %s)",
	"worse, made good since":                       "хуже, но с тех пор исправлено",
	"regression":                                   "ухудшение", "equivalent": "без изменений",
	"inconclusive": "не решено", "unknown": "неизвестно",
	"Series that changed": "Ряды, которые изменились", "Series that didn't": "Ряды без изменений", "Versions": "Версии",
	"show only": "показать только",
	"History":   "История", "no fresh regression": "новых ухудшений нет", "level": "уровень",
	"%s of %s since %s: %s → %s":                         "%s ряда %s с %s: %s → %s",
	"%d operations are left out; --output json has them": "%d операций опущено; они есть в --output json",
}
